"""Targets that ONNX files are deployed on: what each takes, said as data (profiles/), and what it gives where it is installed."""
