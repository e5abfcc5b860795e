"""Graphs of typed operators: nodes, building, Symbol JSON, inference, differentiation."""
