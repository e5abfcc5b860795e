"""AutoGluon's core: its searcher draws settings for a network that is trained with each, and its metrics score the best."""

import autogluon.core as ag
import mxnet as mx
import numpy as np
from autogluon.core.metrics.softclass_metrics import soft_log_loss

draw = np.random.RandomState(0)
x, y = draw.randn(40, 5), draw.randint(0, 3, 40)
weights = draw.randn(16, 5) * 0.3, draw.randn(3, 16) * 0.3


def report(name, *values):
    print("NUMBER", name, *(repr(float(v)) for v in values))


@ag.args(rate=ag.space.Real(1e-2, 1, log=True), hidden=ag.space.Int(4, 16), momentum=ag.space.Real(0, 0.9))
def fit(args, reporter):
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(args.hidden, activation="tanh", in_units=5), mx.gluon.nn.Dense(3, in_units=args.hidden))
    net.initialize(mx.init.Zero())
    net[0].weight.set_data(mx.nd.array(weights[0][: args.hidden]))
    net[1].weight.set_data(mx.nd.array(weights[1][:, : args.hidden]))
    net.hybridize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": args.rate, "momentum": args.momentum})
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    for _ in range(10):
        with mx.autograd.record():
            value = loss(net(mx.nd.array(x)), mx.nd.array(y)).mean()
        value.backward()
        trainer.step(1)
    return net, value.asscalar()


searcher = ag.searcher.RandomSearcher(fit.cs, reward_attribute="reward", resource_attribute="epoch")
found = {}
for _ in range(5):
    config = searcher.get_config()
    net, loss = fit(fit.args, config)
    searcher.update(config, reward=-loss, epoch=1)
    found[-float(loss)] = net
    report("trial", *(config[name] for name in sorted(config)), loss)
best = found[max(found)]
report("best reward", searcher.get_best_reward())
likely = mx.nd.softmax(best(mx.nd.array(x))).asnumpy()
report("soft log loss", soft_log_loss._score_func(np.eye(3)[y], likely), *likely[0])
