"""The family ``_onnx_``: operators of the ONNX standard that MXNet lacks, or that it has in a narrower form.

Each is named after its ONNX operator and means what that means in its newest version, with the same inputs and attributes;
older versions are brought to that form by converters/ops/onnx."""
