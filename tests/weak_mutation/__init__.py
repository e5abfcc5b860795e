"""Weak mutation coverage: the places of the product where a typical slip could not change what any test sees.

A condition dropped, ``<`` for ``<=``, an operand or an option forgotten, only the first of several: each changes something only
where a test brings values that tell both apart. ``python -m tests.weak_mutation`` runs tests on instrumented sources and lists the
places where none did. (Offutt and Lee, An empirical evaluation of weak mutation, 1994.)"""
