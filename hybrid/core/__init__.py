"""The foundation of everything else: operators and their attributes, shapes, errors, budgets, scopes; no graphs, no arrays
of users."""
