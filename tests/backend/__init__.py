"""The backend suite that the onnx package ships, on our engine."""
