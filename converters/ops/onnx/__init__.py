"""Both directions for the family ``_onnx_``, one file per file of hybrid/ops/onnx."""
