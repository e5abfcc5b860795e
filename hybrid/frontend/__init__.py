"""Symbols: graphs with names, as users write them."""
