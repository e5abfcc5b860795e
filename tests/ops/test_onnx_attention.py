"""Attention in forms that no recorded model has."""

import numpy as np

from hybrid.core.op import lookup


def test_masks_of_integers_may_be_short():
    rng = np.random.default_rng(5)
    q, k, v = (rng.standard_normal(s).astype(np.float32) for s in ((2, 3, 8), (2, 5, 4), (2, 5, 3)))
    mask = np.array([[0, 1], [2, 0], [0, -1]])
    op = lookup("_onnx_Attention").bind(given=("attn_mask",), q_num_heads=2, kv_num_heads=1)
    short, whole = (op.compute(q, k[:, :n], v[:, :n], m) for n, m in ((5, mask), (2, mask.astype(np.float32))))
    np.testing.assert_allclose(short, whole, rtol=1e-6)
