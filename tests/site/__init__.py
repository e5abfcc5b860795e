"""The site: the pages of docs/ that are written from the code, and what mkdocs is told beside mkdocs.yml."""
