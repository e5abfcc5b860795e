"""MXFusion: the mean and variance of drawn numbers, by MAP; Gaussian process regression."""

import mxnet as mx
import numpy as np
from mxfusion import Model, Variable
from mxfusion.components.distributions import Normal
from mxfusion.components.distributions.gp.kernels import RBF
from mxfusion.components.variables import PositiveTransformation
from mxfusion.inference import MAP, GradBasedInference
from mxfusion.modules.gp_modules import GPRegression


def report(name, *values):
    print("NUMBER", name, *(repr(float(v)) for v in values))


random = np.random.RandomState(0)
data = random.randn(100) * np.sqrt(5) + 3
m = Model()
m.mu = Variable()
m.s = Variable(transformation=PositiveTransformation())
m.Y = Normal.define_variable(mean=m.mu, variance=m.s, shape=(100,))
inference = GradBasedInference(inference_algorithm=MAP(model=m, observed=[m.Y]))
inference.run(Y=mx.nd.array(data), learning_rate=0.1, max_iters=200, verbose=False)
report("mean", inference.params[m.mu].asscalar())
report("variance", inference.params[m.s].asscalar())

X = random.rand(20, 1)
Y = np.sin(6 * X) + 0.1 * random.randn(20, 1)
m = Model()
m.N = Variable()
m.X = Variable(shape=(m.N, 1))
m.noise = Variable(shape=(1,), transformation=PositiveTransformation(), initial_value=mx.nd.array([0.01]))
m.kernel = RBF(input_dim=1, variance=1, lengthscale=1)
m.Y = GPRegression.define_variable(X=m.X, kernel=m.kernel, noise_var=m.noise, shape=(m.N, 1))
inference = GradBasedInference(inference_algorithm=MAP(model=m, observed=[m.X, m.Y]))
inference.initialize(X=mx.nd.array(X), Y=mx.nd.array(Y))
inference.run(max_iter=30, learning_rate=0.05, X=mx.nd.array(X), Y=mx.nd.array(Y), verbose=False)
report("gp noise", inference.params[m.noise].asscalar())
report("gp lengthscale", inference.params[m.kernel.lengthscale].asscalar())
