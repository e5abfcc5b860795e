"""Where ONNX files are deployed: what each target takes, said as data (profiles/), and what it gives, where it is installed."""
