"""What everything stands on: operators and their attributes, shapes, errors, budgets, scopes; no graphs, no arrays of users."""
