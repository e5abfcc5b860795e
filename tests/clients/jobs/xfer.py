"""xfer: a network's features are repurposed by logistic regression, SVM and fine-tuning."""

import mxnet as mx
import numpy as np
import xfer


def report(name, *values):
    print("NUMBER", name, *(repr(float(v)) for v in values))


random = np.random.RandomState(0)
data = mx.sym.Variable("data")
net = mx.sym.FullyConnected(data, num_hidden=12, name="fc1")
net = mx.sym.Activation(net, act_type="relu", name="relu1")
net = mx.sym.FullyConnected(net, num_hidden=4, name="fc2")
net = mx.sym.SoftmaxOutput(net, name="softmax")
source = mx.mod.Module(net, context=mx.cpu())
x = random.rand(40, 6).astype("float32")
y = (x.sum(1) > 3).astype("float32")
train = mx.io.NDArrayIter(x, y, batch_size=10)
source.bind(train.provide_data, train.provide_label)
shapes = {"fc1_weight": (12, 6), "fc1_bias": (12,), "fc2_weight": (4, 12), "fc2_bias": (4,)}
source.init_params(arg_params={k: mx.nd.array(random.randn(*s) * 0.3) for k, s in shapes.items()})
for kind, more in ((xfer.LrRepurposer, {}), (xfer.SvmRepurposer, {"enable_probability_estimates": True})):
    repurposer = kind(source_model=source, feature_layer_names=["fc1"], **more)
    repurposer.repurpose(train)
    report(kind.__name__, *repurposer.predict_probability(train)[:4, 0].round(4))
mx.random.seed(0)
fine = xfer.NeuralNetworkFineTuneRepurposer(source, transfer_layer_name="relu1", target_class_count=2, num_epochs=20)
fine.repurpose(train)
report("fine tuned", float((fine.predict_label(train) == y).mean() > 0.6))
