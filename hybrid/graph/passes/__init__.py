"""Rewritings of graphs, one a file: what they expect of a graph, and what they leave."""
