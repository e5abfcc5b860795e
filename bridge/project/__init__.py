"""A project's models and what they are held to, in a gluonnx.toml: ``gluonnx check`` in one's own CI."""
