"""Operators that MXNet 1.9.1 registers and that are not defined here, each with its reason: docs/operators.md lists them, and
tests/house/test_complete.py wants every operator of MXNet either here or in the registry."""

ABSENT: dict[str, str] = {}
