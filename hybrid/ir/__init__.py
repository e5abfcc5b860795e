"""Graphs of typed operators: nodes, Symbol JSON, inference, plans and their execution."""
