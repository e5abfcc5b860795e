"""Answers of a distributed store, in words that MXNet 1.9.1 understands too: ``asked.py KIND OUT``, run by two ranks.

Every rank writes OUT-RANK.json; the numbers are such that no order of adding changes them."""

import json
import sys

import mxnet as mx
import numpy as np

KIND, OUT = sys.argv[1:]
SHAPE = (5, 7)
TOLD = {}


def numbers(seed, shape=SHAPE):
    """Eighths between -2 and 2."""
    return np.random.RandomState(seed).randint(-16, 17, shape).astype(np.float32) / 8


def grad(seed, shape=SHAPE):
    return mx.nd.array(numbers(100 * seed + kv.rank, shape))


def pulled(key, shape=SHAPE):
    out = mx.nd.zeros(shape)
    kv.pull(key, out=out)
    return out.asnumpy().tolist()


def without_optimizer():
    kv.init("a", mx.nd.array(numbers(1 + kv.rank)))
    TOLD["init"] = pulled("a")
    kv.init(["b", "c"], [mx.nd.ones(SHAPE) * 2, mx.nd.zeros((3,))])
    kv.push("a", grad(2))
    TOLD["push"] = pulled("a")
    kv.push(["b", "c"], [grad(3), grad(4, (3,))])
    TOLD["pushes"] = [pulled("b"), pulled("c", (3,))]
    kv.push("a", [grad(5), grad(6)])
    TOLD["devices"] = pulled("a")
    out = mx.nd.zeros(SHAPE)
    kv.pushpull("b", grad(7), out=out)
    TOLD["pushpull"] = out.asnumpy().tolist()
    table = np.zeros((6, 2), np.float32)
    table[[1, 4]] = 3
    kv.init("rows", mx.nd.array(table).tostype("row_sparse"))
    mine = np.zeros((6, 2), np.float32)
    mine[[kv.rank, 2 + kv.rank]] = kv.rank + 1
    kv.push("rows", mx.nd.array(mine).tostype("row_sparse"))
    out = mx.nd.sparse.zeros("row_sparse", (6, 2))
    kv.row_sparse_pull("rows", out=out, row_ids=mx.nd.array([0, 2, 3, 4]))
    TOLD["rows"] = out.asnumpy().tolist()


def with_optimizer():
    settings = {
        "sgd": {"learning_rate": 0.5, "momentum": 0.5, "wd": 0.25, "rescale_grad": 0.5},
        "adam": {"learning_rate": 0.125},
    }
    if "async" in KIND:
        settings = {"sgd": {"learning_rate": 0.5, "rescale_grad": 0.5}}
    for name, options in settings.items():
        kv._barrier()
        kv.set_optimizer(mx.optimizer.create(name, **options))
        kv._barrier()
        kv.init(name, mx.nd.array(numbers(9)))
        steps = []
        for step in range(3):
            kv.push(name, grad(10 + step))
            mine = pulled(name)  # of dist_async it may have the other's push or not
            kv._barrier()
            steps.append(pulled(name) if "async" in KIND else mine)
            kv._barrier()
        TOLD[name] = steps


def in_two_bits():
    kv.set_gradient_compression({"type": "2bit", "threshold": 0.5})
    kv.init("bits", mx.nd.zeros((37,)))
    TOLD["bits"] = []
    for step in range(5):
        kv.push("bits", grad(20 + step, (37,)) * 0.25)
        TOLD["bits"].append(pulled("bits", (37,)))


kv = mx.kv.create("dist_sync" if KIND == "2bit" else KIND)
if KIND == "2bit":
    in_two_bits()
else:
    if "async" not in KIND:
        without_optimizer()
    with_optimizer()
kv._barrier()
TOLD["workers"], TOLD["type"] = kv.num_workers, kv.type
with open(f"{OUT}-{kv.rank}.json", "w", encoding="utf-8") as file:
    json.dump(TOLD, file)
