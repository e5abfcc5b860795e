"""``python -m bridge`` is the command ``gluonnx``."""

from .cli import main

if __name__ == "__main__":
    main()
