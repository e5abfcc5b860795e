"""Precisions of operators in mixed precision with bfloat16."""

from __future__ import annotations

from . import names

BF16_FUNCS = names.of("low", 1)
"""In bfloat16."""
BF16_FP32_FUNCS = names.of("either", 1)
"""In the dtype that their inputs have."""
FP32_FUNCS = names.of("float32", 1)
"""In float32."""
CONDITIONAL_FP32_FUNCS = [(name, attribute, [*values]) for name, attribute, values in names.CONDITIONAL]
"""In float32 where an attribute has one of some values."""
WIDEST_TYPE_CASTS = names.of("widest", 1)
"""In the widest dtype of their inputs."""
LOSS_OUTPUT_FUNCTIONS = ["SoftmaxOutput", "LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput"]
"""Losses whose gradients the loss scale multiplies."""
BF16_USE_FP32_PARAMS = {
    name: ["", "gamma", "beta", "moving_mean", "moving_var"] for name in ("BatchNormWithReLU", "BatchNorm")
}
"""Inputs that stay in float32 where the operator is put among those in bfloat16, "" for one that does not."""
