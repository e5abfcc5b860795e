"""GluonTS: a feed-forward estimator is trained on two waves and predicts; the numbers of a fixed distribution."""

import mxnet as mx
import numpy as np
from gluonts.dataset.common import ListDataset
from gluonts.evaluation import make_evaluation_predictions
from gluonts.model.deepar import DeepAREstimator
from gluonts.model.simple_feedforward import SimpleFeedForwardEstimator
from gluonts.mx.distribution import Gaussian, StudentT
from gluonts.mx.trainer import Trainer


def report(name, *values):
    print("NUMBER", name, *(repr(float(v)) for v in values))


def near(name, value, wanted, within):
    """Numbers of a training that draws: both engines have to come near."""
    print("NUMBER", name, float(abs(value - wanted) <= within))


t = np.arange(200)
waves = [10 + 5 * np.sin(t / 4 + i) for i in range(4)]
data = ListDataset([{"start": "2020-01-01 00:00", "target": w} for w in waves], freq="1H")
mx.random.seed(3)
np.random.seed(3)
estimators = (
    (SimpleFeedForwardEstimator, {"num_hidden_dimensions": [20]}),
    (DeepAREstimator, {"num_layers": 1, "num_cells": 10}),
)
for estimator, more in estimators:
    trainer = Trainer(ctx="cpu", epochs=4, learning_rate=1e-2, num_batches_per_epoch=15)
    predictor = estimator(freq="1H", prediction_length=6, trainer=trainer, **more).train(data)
    forecasts, series = make_evaluation_predictions(data, predictor, num_samples=50)
    pairs = list(zip(forecasts, series))
    error = np.mean([np.abs(f.mean - s.values[-6:, 0]).mean() for f, s in pairs])
    near(f"{estimator.__name__} error", error, 0.0, 3.5)
x = mx.nd.array([0.3, -1.2])
report("gaussian", *Gaussian(mx.nd.array([0.0, 1.0]), mx.nd.array([1.0, 2.0])).log_prob(x).asnumpy())
report(
    "student",
    *StudentT(mx.nd.array([0.0, 1.0]), mx.nd.array([1.0, 2.0]), mx.nd.array([3.0, 4.0])).log_prob(x).asnumpy(),
)
