"""The same 8 steps by horovod.mxnet's Trainer, its optimizer in a Module, and the store named horovod: ``by_horovod.py OUT``."""

import json
import sys

import horovod.mxnet as hvd
import mxnet as mx
import numpy as np

hvd.init()
rank, size = hvd.rank(), hvd.size()
told = {"rank": rank, "size": size, "local": [hvd.local_rank(), hvd.local_size()], "machines": hvd.cross_size()}
mine = mx.nd.arange(6).reshape((2, 3)) + 10 * rank
told["mean"] = hvd.allreduce(mine).asnumpy().tolist()
told["sum"] = hvd.allreduce(mine, average=False, name="sum").asnumpy().tolist()
told["in_place"] = hvd.allreduce_(mine.copy(), average=False, prescale_factor=0.5).asnumpy().tolist()
told["half"] = hvd.allreduce(mine.astype("float16"), average=False).asnumpy().tolist()
told["group"] = [a.asnumpy().tolist() for a in hvd.grouped_allreduce([mine, mine * 2], average=False)]
told["all"] = hvd.allgather(mx.nd.ones((rank + 1, 2)) * rank).asnumpy().tolist()
told["first"] = hvd.broadcast(mine, size - 1).asnumpy().tolist()
random = np.random.RandomState(5)
X, Y = random.randn(8 * 16, 6).astype(np.float32), random.randint(0, 3, 8 * 16).astype(np.float32)
WEIGHT = random.randn(3, 6).astype(np.float32)
SETTINGS = {"learning_rate": 0.25, "momentum": 0.5}


def parts():
    for i in range(8):
        part = slice(16 * i + rank * 16 // size, 16 * i + (rank + 1) * 16 // size)
        yield mx.nd.array(X[part]), mx.nd.array(Y[part])


def trained(make):
    net = mx.gluon.nn.Dense(3, use_bias=False)  # whose shape comes with the first batch
    net.initialize(mx.init.Constant(rank))
    trainer, batch = make(net)
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    for x, y in parts():
        with mx.autograd.record():
            value = loss(net(x), y)
        value.backward()
        trainer.step(batch)
    return net.weight.data().asnumpy().tolist()


def by_trainer(net):
    hvd.broadcast_parameters(net.collect_params())
    return hvd.DistributedTrainer(net.collect_params(), "sgd", SETTINGS), 16 // size


def by_store(net):
    return mx.gluon.Trainer(net.collect_params(), "sgd", SETTINGS, kvstore="horovod"), 16


told["trainer"] = trained(by_trainer)
told["store"] = trained(by_store)
symbol = mx.sym.SoftmaxOutput(
    mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, no_bias=True, name="fc"), name="softmax"
)
module = mx.mod.Module(symbol)
module.bind([("data", (16 // size, 6))], [("softmax_label", (16 // size,))])
module.init_params(arg_params={"fc_weight": mx.nd.zeros((3, 6))})
optimizer = hvd.DistributedOptimizer(mx.optimizer.SGD(rescale_grad=size / 16, **SETTINGS))
module.init_optimizer(kvstore=None, optimizer=optimizer)
for x, y in parts():
    module.forward_backward(mx.io.DataBatch([x], [y]))
    module.update()
told["module"] = module.get_params()[0]["fc_weight"].asnumpy().tolist()
with open(f"{sys.argv[1]}-{rank}.json", "w", encoding="utf-8") as file:
    json.dump(told, file)
hvd.shutdown()
