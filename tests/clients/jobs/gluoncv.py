"""GluonCV: an SSD is trained for a few steps on drawn boxes and detects; a CIFAR network predicts."""

import gluoncv
import mxnet as mx
import numpy as np
from mxnet import autograd, gluon

mx.random.seed(1)
random = np.random.RandomState(0)


def report(name, *values):
    print("NUMBER", name, *(repr(float(v)) for v in values))


def filled(block):
    """Parameters from NumPy's generator, which both engines share."""
    for name, p in sorted(block.collect_params().items()):
        short = name.split("_", 1)[-1]
        if p.grad_req != "null" and short.endswith("weight"):
            p.set_data(mx.nd.array(random.randn(*p.shape) * (2 / max(1, np.prod(p.shape[1:]))) ** 0.5))


def cifar():
    net = gluoncv.model_zoo.get_model("cifar_resnet20_v1", classes=10)
    net.initialize()
    x = mx.nd.array(random.rand(2, 3, 32, 32))
    net(x)
    filled(net)
    net.hybridize()
    report("cifar_resnet20_v1", *net(x).asnumpy()[0, :4])


def ssd():
    from gluoncv.model_zoo.ssd.target import SSDTargetGenerator

    net = gluoncv.model_zoo.get_model("ssd_300_vgg16_atrous_voc", pretrained_base=False)
    net.initialize()
    x = mx.nd.array(random.rand(1, 3, 300, 300))
    with autograd.train_mode():
        net(x)
    filled(net)
    loss = gluoncv.loss.SSDMultiBoxLoss()
    with autograd.train_mode():
        _, _, anchors = net(x)
    boxes = mx.nd.array([[[0.1 * 300, 0.1 * 300, 0.5 * 300, 0.6 * 300], [100, 120, 280, 250]]])
    ids = mx.nd.array([[[3], [7]]])
    targets = SSDTargetGenerator(negative_mining_ratio=-1, stds=(0.1, 0.1, 0.2, 0.2))
    cls_targets, box_targets, _ = targets(anchors, None, boxes, ids)
    report("targets", (cls_targets > 0).sum().asscalar(), mx.nd.abs(box_targets).sum().asscalar())
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1e-7, "momentum": 0.9})
    for _ in range(2):
        with autograd.record():
            classes, places, _ = net(x)
            total, _, _ = loss(classes, places, cls_targets, box_targets)
            autograd.backward(total)
        trainer.step(1)
        report("ssd loss", total[0].asscalar())
    found_ids, scores, _ = net(x)
    report("detected", (found_ids >= 0).sum().asscalar() > 0, scores.max().asscalar())


cifar()
ssd()
