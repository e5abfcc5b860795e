"""States of dist_async, which their owners hold, in one file of rank 0; rows of a table that an owner keeps: ``saving.py OUT``."""

import json
import sys

import mxnet as mx
import numpy as np

store = mx.kv.create("dist_async")
store.set_optimizer(mx.optimizer.SGD(learning_rate=1.0, momentum=0.5))
keys = ["a", "b", "c"]
store.init(keys, [mx.nd.zeros((2,)) for _ in keys])
store.init("table", mx.nd.zeros((5, 2)).tostype("row_sparse"))
if store.rank == 0:
    for i, key in enumerate(keys):
        store.push(key, mx.nd.ones((2,)) * (i + 1))
    rows = np.zeros((5, 2), np.float32)
    rows[3] = 2
    store.push("table", mx.nd.array(rows).tostype("row_sparse"))
store._barrier()
out = mx.nd.zeros((5, 2))
store.row_sparse_pull("table", out=out, row_ids=mx.nd.array([1, 3]))
values = [mx.nd.zeros((2,)) for _ in keys]
store.pull(keys, out=values)
told = {"table": out.asnumpy().tolist(), "values": [v.asnumpy().tolist() for v in values]}
store._barrier()
if store.rank == 0:
    store.save_optimizer_states(sys.argv[1] + ".states")
store._barrier()
store.load_optimizer_states(sys.argv[1] + ".states")
told["states"] = {k: v.asnumpy().tolist() for k, v in sorted(store._updater.states.items()) if k != "table"}
with open(f"{sys.argv[1]}-{store.rank}.json", "w", encoding="utf-8") as file:
    json.dump(told, file)
