"""Networks of the zoo with settings of one's own: shapes of their parameters, layers, and what does not go together."""

from __future__ import annotations

from .questions import ask, attempt


def shapes(net):
    """Shapes of all parameters, in order; those without gradients in brackets."""
    texts = [("x".join(map(str, p.shape)), p.grad_req) for p in net.collect_params().values()]
    return " ".join(f"({t})" if kind == "null" else t for t, kind in texts)


@ask
def networks_of_ones_own(mx, folder):
    vision = mx.gluon.model_zoo.vision
    mobile = vision.get_model.__globals__["mobilenet1_0"].__globals__
    bottleneck, found = mobile["LinearBottleneck"], {}
    for name, make in {
        **{
            f"{net.__name__} of {block.__name__} {thumbnail}": lambda net=net, block=block, t=thumbnail: net(
                block, [2, 1], [6, 10, 18], classes=3, thumbnail=t
            )
            for net, blocks in (
                (vision.ResNetV1, (vision.BasicBlockV1, vision.BottleneckV1)),
                (vision.ResNetV2, (vision.BasicBlockV2, vision.BottleneckV2)),
            )
            for block in blocks
            for thumbnail in (False, True)
        },
        "too few channels": lambda: vision.ResNetV1(vision.BasicBlockV1, [2, 1], [6, 10]),
        "too many channels": lambda: vision.ResNetV2(vision.BasicBlockV2, [2, 1], [6, 10, 18, 20]),
        "vgg": lambda: vision.VGG([2, 1], [4, 6], classes=5),
        "vgg normalized": lambda: vision.VGG([1, 3], [4, 6], classes=5, batch_norm=True),
        "vgg of two lengths": lambda: vision.VGG([1, 3], [4], classes=5),
        "mobile": lambda: vision.MobileNet(1.5, classes=5),
        "mobile 2": lambda: vision.MobileNetV2(1.5, classes=5),
        "mobile 2 small": lambda: vision.MobileNetV2(0.3, classes=5),
        "mobile 2 whole": lambda: vision.MobileNetV2(1.0, classes=5),
        "dense": lambda: vision.DenseNet(6, 4, [1, 2], classes=5),
        "dense dropping": lambda: vision.DenseNet(6, 4, [1, 2], dropout=0.3, classes=5),
        "squeezed": lambda: vision.SqueezeNet("1.0", classes=5),
        "squeezed more": lambda: vision.SqueezeNet("1.1", classes=5),
    }.items():
        made = attempt(make)
        shown = repr(made)
        found[name] = made if isinstance(made, dict) else [shapes(made), shown.count("Dropout"), len(shown)]
    for stride in (1, 2):
        for before, after in ((6, 6), (6, 8)):
            block = bottleneck(before, after, 3, stride)
            found[f"bottleneck {stride} {before} {after}"] = [block.use_shortcut, shapes(block)]
    return found
