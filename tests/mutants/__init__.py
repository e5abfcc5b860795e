"""Planted faults: does the quick set notice? ``python -m tests.mutants`` plants one after the other; faults.py lists them."""
