"""Planted faults: does the quick set notice? ``python -m tests.mutants`` plants one after the other; faults.py lists them.

``python -m tests.mutants.forked`` plants slips of its own, drawn by lot, by the thousand.
"""
