"""Faces of a result: text for a terminal, Markdown, one HTML file, data for machines. All show the same pages of blocks."""
