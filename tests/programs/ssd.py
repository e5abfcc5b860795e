"""Anchors, their targets, a tiny detector trained, detections."""

from mxnet import autograd, contrib, gluon, image, init, nd
from mxnet.gluon import loss as gloss, nn
import numpy as np, time

w, h = 20, 16
X = nd.zeros(shape=(1, 3, h, w))
Y = contrib.nd.MultiBoxPrior(X, sizes=[0.75, 0.5, 0.25], ratios=[1, 2, 0.5])
print(Y.shape)
boxes = Y.reshape((h, w, 5, 4))
print(boxes[8, 8, 0, :])
gt = nd.array([[0, 0.1, 0.08, 0.52, 0.92], [1, 0.55, 0.2, 0.9, 0.88]])
anchors = nd.array(
    [
        [0, 0.1, 0.2, 0.3],
        [0.15, 0.2, 0.4, 0.4],
        [0.63, 0.05, 0.88, 0.98],
        [0.66, 0.45, 0.8, 0.8],
        [0.57, 0.3, 0.92, 0.9],
    ]
)
labels = contrib.nd.MultiBoxTarget(anchors.expand_dims(axis=0), gt.expand_dims(axis=0), nd.zeros((1, 3, 5)))
print(labels[2], labels[1], labels[0])
anchors = nd.array([[0.1, 0.08, 0.52, 0.92], [0.08, 0.2, 0.56, 0.95], [0.15, 0.3, 0.62, 0.91], [0.55, 0.2, 0.9, 0.88]])
cls_probs = nd.array([[0] * 4, [0.9, 0.8, 0.7, 0.1], [0.1, 0.2, 0.3, 0.9]])
output = contrib.ndarray.MultiBoxDetection(
    cls_probs.expand_dims(axis=0),
    nd.array([0] * 16).expand_dims(axis=0),
    anchors.expand_dims(axis=0),
    nms_threshold=0.5,
)
print(output)
for i in output[0].asnumpy():
    if i[0] == -1:
        continue
    print(("dog=", "cat=")[int(i[0])] + "%.2f" % i[1])


def cls_predictor(na, nc):
    return nn.Conv2D(na * (nc + 1), kernel_size=3, padding=1)


def bbox_predictor(na):
    return nn.Conv2D(na * 4, kernel_size=3, padding=1)


def forward(x, block):
    block.initialize()
    return block(x)


Y1 = forward(nd.zeros((2, 8, 20, 20)), cls_predictor(5, 10))
Y2 = forward(nd.zeros((2, 16, 10, 10)), cls_predictor(3, 10))
print(Y1.shape, Y2.shape)


def flatten_pred(pred):
    return pred.transpose((0, 2, 3, 1)).flatten()


def concat_preds(preds):
    return nd.concat(*[flatten_pred(p) for p in preds], dim=1)


print(concat_preds([Y1, Y2]).shape)


def down_sample_blk(c):
    blk = nn.Sequential()
    for _ in range(2):
        blk.add(nn.Conv2D(c, kernel_size=3, padding=1), nn.BatchNorm(in_channels=c), nn.Activation("relu"))
    blk.add(nn.MaxPool2D(2))
    return blk


def base_net():
    blk = nn.Sequential()
    for c in [4, 8, 8]:
        blk.add(down_sample_blk(c))
    return blk


def get_blk(i):
    return base_net() if i == 0 else nn.GlobalMaxPool2D() if i == 4 else down_sample_blk(16)


def blk_forward(X, blk, size, ratio, cls_predictor, bbox_predictor):
    Y = blk(X)
    anchors = contrib.ndarray.MultiBoxPrior(Y, sizes=size, ratios=ratio)
    return (Y, anchors, cls_predictor(Y), bbox_predictor(Y))


sizes = [[0.2, 0.272], [0.37, 0.447], [0.54, 0.619], [0.71, 0.79], [0.88, 0.961]]
ratios = [[1, 2, 0.5]] * 5
num_anchors = len(sizes[0]) + len(ratios[0]) - 1


class TinySSD(nn.Block):
    def __init__(self, num_classes, **kwargs):
        super(TinySSD, self).__init__(**kwargs)
        self.num_classes = num_classes
        for i in range(5):
            setattr(self, "blk_%d" % i, get_blk(i))
            setattr(self, "cls_%d" % i, cls_predictor(num_anchors, num_classes))
            setattr(self, "bbox_%d" % i, bbox_predictor(num_anchors))

    def forward(self, X):
        anchors, cls_preds, bbox_preds = [None] * 5, [None] * 5, [None] * 5
        for i in range(5):
            X, anchors[i], cls_preds[i], bbox_preds[i] = blk_forward(
                X,
                getattr(self, "blk_%d" % i),
                sizes[i],
                ratios[i],
                getattr(self, "cls_%d" % i),
                getattr(self, "bbox_%d" % i),
            )
        return (
            nd.concat(*anchors, dim=1),
            concat_preds(cls_preds).reshape((0, -1, self.num_classes + 1)),
            concat_preds(bbox_preds),
        )


class Det(init.Initializer):
    n = 0

    def _init_weight(self, name, arr):
        Det.n += 1
        arr[:] = np.random.RandomState(Det.n).normal(0, 0.1, arr.shape)


net = TinySSD(num_classes=1)
net.initialize(Det())
rs = np.random.RandomState(0)
X = nd.array(rs.rand(4, 3, 64, 64))
Y = nd.array(
    np.concatenate(
        [
            np.zeros((4, 1, 1)),
            np.array([[[0.1, 0.1, 0.5, 0.6]], [[0.4, 0.3, 0.9, 0.8]], [[0.2, 0.5, 0.4, 0.9]], [[0, 0, 0.3, 0.3]]]),
        ],
        2,
    )
)
a, c, b = net(X)
print(a.shape, c.shape, b.shape, a[0, ::97])
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.2, "wd": 5e-4})
cls_loss = gloss.SoftmaxCrossEntropyLoss()
bbox_loss = gloss.L1Loss()


def calc_loss(cp, cl, bp, bl, bm):
    return cls_loss(cp, cl) + bbox_loss(bp * bm, bl * bm)


for epoch in range(3):
    with autograd.record():
        anchors, cls_preds, bbox_preds = net(X)
        bbox_labels, bbox_masks, cls_labels = contrib.nd.MultiBoxTarget(anchors, Y, cls_preds.transpose((0, 2, 1)))
        l = calc_loss(cls_preds, cls_labels, bbox_preds, bbox_labels, bbox_masks)
    l.backward()
    trainer.step(4)
    print(
        "%.5f %.5f %.5f"
        % (
            l.mean().asscalar(),
            (cls_preds.argmax(axis=-1) == cls_labels).mean().asscalar(),
            ((bbox_labels - bbox_preds) * bbox_masks).abs().mean().asscalar(),
        )
    )
anchors, cls_preds, bbox_preds = net(X)
out = contrib.nd.MultiBoxDetection(cls_preds.softmax().transpose((0, 2, 1)), bbox_preds, anchors)
print(out.shape, (out[:, :, 0] >= 0).sum())
x = nd.arange(16).reshape((1, 1, 4, 4))
rois = nd.array([[0, 0, 0, 20, 20], [0, 0, 10, 30, 30]])
print(nd.ROIPooling(x, rois, pooled_size=(2, 2), spatial_scale=0.1))
print(
    contrib.nd.box_nms(
        nd.array([[0, 0.9, 0.1, 0.1, 0.5, 0.5], [0, 0.8, 0.1, 0.1, 0.52, 0.52], [1, 0.7, 0.6, 0.6, 0.9, 0.9]]),
        overlap_thresh=0.5,
    ),
    contrib.nd.box_iou(nd.array([[0, 0, 2, 2.0]]), nd.array([[1, 1, 3, 3.0]]), format="corner"),
)
s = [0.5]
x = nd.arange(-2, 2, 0.1)
for sc in [10, 1, 0.5]:
    print(nd.smooth_l1(x, scalar=sc)[::8])


def focal_loss(gamma, x):
    return -((1 - x) ** gamma) * x.log()


print(focal_loss(2, nd.arange(0.1, 1, 0.2)))
