"""``python -m gluonnx`` is the command ``gluonnx``."""

from bridge.cli import main

if __name__ == "__main__":
    main()
