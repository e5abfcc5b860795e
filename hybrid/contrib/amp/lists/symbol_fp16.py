"""Precisions of operators in mixed precision with float16."""

from __future__ import annotations

from . import names

FP16_FUNCS = names.of("low", 0)
"""In float16."""
FP16_FP32_FUNCS = names.of("either", 0)
"""In the dtype that their inputs have."""
FP32_FUNCS = names.of("float32", 0)
"""In float32."""
CONDITIONAL_FP32_FUNCS = [(name, attribute, [*values]) for name, attribute, values in names.CONDITIONAL]
"""In float32 where an attribute has one of some values."""
WIDEST_TYPE_CASTS = names.of("widest", 0)
"""In the widest dtype of their inputs."""
LOSS_OUTPUT_FUNCTIONS = ["SoftmaxOutput", "LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput"]
"""Losses whose gradients the loss scale multiplies."""
