"""Steps of a deep network whose gradients travel while the rest is computed: ``overlapping.py OUT`` writes traces."""

import sys

import mxnet as mx

store = mx.kv.create("dist_sync")
net = mx.gluon.nn.Sequential()
for _ in range(6):
    net.add(mx.gluon.nn.Dense(700, activation="tanh"))
net.initialize()
data = mx.nd.random.uniform(shape=(256, 700))
trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01}, kvstore=store)


def step():
    with mx.autograd.record():
        value = (net(data) ** 2).mean()
    value.backward()
    trainer.step(1)


step()
mx.nd.waitall()
store._barrier()
mx.profiler.set_config(filename=f"{sys.argv[1]}-{store.rank}.json", profile_all=True)
mx.profiler.set_state("run")
for _ in range(3):
    step()
mx.nd.waitall()
mx.profiler.dump()
