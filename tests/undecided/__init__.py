"""Choices that no test decides: expressions of the product that could be wrong in some way without any value changing in the tests.

    python -m tests.undecided [--only REGEX] [--json] [PATH ...]      PATH: tests to run, otherwise the quick set

The product is imported with probes in its expressions (rewrite.py), the tests run, and what stays open is listed: an operand of
``and``/``or`` that never decided, an outcome of a comparison that never was, a boundary that was never met, an argument that always
was the callee's default, a function that changed nothing it was given. A fault planted there cannot be caught. The other way round
nothing is said: what was decided may still not be asserted. Source of the idea: weak mutation testing (Howden 1982)."""
