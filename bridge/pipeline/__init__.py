"""Steps before and behind a network in the file: pictures made ready for it, and classes of what it gives."""
