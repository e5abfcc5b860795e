"""DGL: a graph convolution network and graph attention, trained on a drawn graph."""

import dgl
import mxnet as mx
import numpy as np
from dgl.nn.mxnet import GATConv, GraphConv
from mxnet import autograd, gluon


def report(name, *values):
    print("NUMBER", name, *(repr(float(v)) for v in values))


random = np.random.RandomState(0)
count = 40
ends = random.randint(0, count, (2, 160))
graph = dgl.graph((mx.nd.array(ends[0], dtype="int64"), mx.nd.array(ends[1], dtype="int64")), num_nodes=count)
graph = dgl.add_self_loop(graph)
features = mx.nd.array(random.randn(count, 8))
labels = mx.nd.array(random.randint(0, 3, count))
loss = gluon.loss.SoftmaxCELoss()


class Network(gluon.Block):
    """Two layers of a kind."""

    def __init__(self, first, second):
        super().__init__()
        with self.name_scope():
            self.first, self.second = first, second

    def forward(self, graph, x):
        hidden = mx.nd.relu(self.first(graph, x))
        return self.second(graph, hidden.reshape((len(hidden), -1))).reshape((len(hidden), -1))


for name, network in (
    ("convolution", Network(GraphConv(8, 16), GraphConv(16, 3))),
    ("attention", Network(GATConv(8, 4, 2), GATConv(8, 3, 1))),
):
    network.initialize(mx.init.Constant(0.1))
    for parameter in network.collect_params().values():
        parameter.set_data(mx.nd.array(random.randn(*parameter.shape) * 0.2))
    trainer = gluon.Trainer(network.collect_params(), "adam", {"learning_rate": 0.02})
    losses = []
    for _ in range(15):
        with autograd.record():
            found = loss(network(graph, features), labels).mean()
        found.backward()
        trainer.step(1)
        losses.append(found.asscalar())
    report(name, losses[0], losses[-1])
