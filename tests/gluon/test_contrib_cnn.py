"""Deformable convolution layers: without offsets plain convolutions; names and order as in MXNet 1.9.1."""

import numpy as np

import hybrid as mx
from hybrid.gluon.contrib import cnn


def test_without_offsets_it_is_a_convolution() -> None:
    x = mx.nd.array(np.random.RandomState(0).randn(2, 4, 6, 6))
    for layer in (cnn.DeformableConvolution, cnn.ModulatedDeformableConvolution):
        net = layer(3, (3, 3), padding=(1, 1), in_channels=4, activation="relu")
        net.initialize()
        weight, bias = net.deformable_conv_weight.data(), net.deformable_conv_bias.data()
        wanted = mx.nd.relu(mx.nd.Convolution(x, weight, bias, kernel=(3, 3), pad=(1, 1), num_filter=3))
        np.testing.assert_allclose(net(x).asnumpy(), wanted.asnumpy(), rtol=1e-5, atol=1e-5)
        net.hybridize()
        np.testing.assert_allclose(net(x).asnumpy(), wanted.asnumpy(), rtol=1e-5, atol=1e-5)


def test_names_are_those_of_mxnet() -> None:
    net = cnn.DeformableConvolution(4, 3, padding=1, groups=2, use_bias=False, prefix="d_")
    assert (
        repr(net)
        == "DeformableConvolution(None -> 4, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), groups=2, bias=False)"
    )
    assert [(k, p.shape) for k, p in net.collect_params().items()] == [
        ("d_offset_weight", (18, 0, 3, 3)),
        ("d_offset_bias", (18,)),
        ("d_deformable_conv_weight", (4, 0, 3, 3)),
    ]
    modulated = cnn.ModulatedDeformableConvolution(4, 3, in_channels=2, prefix="m_")
    assert list(modulated.collect_params()) == [
        "m_deformable_conv_weight",
        "m_deformable_conv_bias",
        "m_offset_weight",
        "m_offset_bias",
    ]


def test_offsets_are_learned() -> None:
    net = cnn.ModulatedDeformableConvolution(2, 3, padding=1, in_channels=2)
    net.initialize()
    net.offset_bias.set_data(mx.nd.full(27, 0.3))
    with mx.autograd.record():
        y = net(mx.nd.array(np.random.RandomState(1).randn(1, 2, 5, 5)))
    y.backward()
    assert all(abs(p.grad().asnumpy()).sum() > 0 for p in net.collect_params().values())
