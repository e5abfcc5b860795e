"""MXNet's own examples (``example/`` of its repository at 1.9.1), on drawn data: which run to their end on either engine."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from . import measure

EXAMPLES: dict[str, str] = {
    "autoencoder/variational_autoencoder/VAE.py": "",
    "dsd/mlp.py": "--pruning_switch_epoch 1,2 --weight_sparsity 0,50 --bias_sparsity 0,50 --num_epochs 2",
    "gluon/dc_gan/dcgan.py": "--dataset mnist --nepoch 1 --ngf 8 --ndf 8 --inception_score=",
    "gluon/image_classification.py": "--dataset mnist --model resnet18_v1 --epochs 1 --mode hybrid --batch-size 50",
    "gluon/mnist/mnist.py": "--epochs 1",
    "gluon/word_language_model/train.py": "--epochs 1 --emsize 20 --nhid 20 --tied --hybridize",
    "image-classification/benchmark_score.py": "--network resnet-18 --batch-size 1 --image-shape 3,64,64",
    "image-classification/train_imagenet.py": "--benchmark 1 --network resnet --num-layers 18"
    " --image-shape 3,32,32 --num-epochs 1 --num-examples 64 --batch-size 16",
    "image-classification/train_mnist.py": "--num-epochs 1 --network lenet --num-examples 800",
    "module/mnist_mlp.py": "",
    "multivariate_time_series/src/lstnet.py": "--num-epochs 1 --q 24 --num-filters 8 --recurrent-state-size 8 --save-period 1",
    "nce-loss/lstm_word.py": "",
    "nce-loss/wordvec.py": "",
    "nce-loss/wordvec_subwords.py": "",
    "numpy-ops/custom_softmax.py": "",
    "numpy-ops/custom_sparse_sqr.py": "",
    "numpy-ops/weighted_logistic_regression.py": "",
    "profiler/profiler_ndarray.py": "",
    "recommenders/matrix_fact.py": "",
    "rnn/bucketing/cudnn_rnn_bucketing.py": "--num-epochs 1 --num-hidden 16 --num-embed 16",
    "rnn/bucketing/lstm_bucketing.py": "--num-epochs 1 --num-hidden 16 --num-embed 16",
    "sparse/factorization_machine/train.py": "--data-train data/criteo.train --data-test data/criteo.test"
    " --batch-size 50 --input-size 1000",
    "sparse/linear_classification/train.py": "--num-epoch 1 --batch-size 50",
    "sparse/matrix_factorization/train.py": "--num-epoch 1 --factor-size 8",
    "sparse/wide_deep/train.py": "--num-epoch 1",
    "stochastic-depth/sd_mnist.py": "",
    "stochastic-depth/sd_cifar10.py": "",
    "svm_mnist/svm_mnist.py": "",
    "svrg_module/api_usage_example/example_api_train.py": "--epochs 2",
    "svrg_module/api_usage_example/example_inference.py": "--epochs 2",
    "svrg_module/linear_regression/train.py": "--epochs 1 --batch_size 100",
}
"""Path in the tree of examples, and arguments that keep it short."""

SECONDS = 300
NAME = "examples"
"""Name that the tool has for them, beside its clients."""


def unfinished(folder: Path, example: str, engine: str) -> str | None:
    """None where the example runs to its end; else the last line of what it said."""
    top = example.partition("/")[0]
    with tempfile.TemporaryDirectory() as temporary:
        shutil.copytree(folder / "src" / "mxnet" / "example" / top, Path(temporary, top))
        program = [str(measure.HERE / "drawn.py"), str(Path(temporary, example)), *EXAMPLES[example].split()]
        text = measure.launched(folder, engine, program, temporary, SECONDS)
    if text is None:
        return "took too long"
    return text.strip().splitlines()[-1][:200] if "Traceback" in text else None


def measured(folder: Path) -> dict:
    """The figures of the examples, as those of a client whose tests they are."""
    real = [example for example in EXAMPLES if unfinished(folder, example, "real") is None]
    reasons = {example: why for example in real if (why := unfinished(folder, example, "ours")) is not None}
    figures = {"client": NAME, "version": "1.9.1", "tests": len(real) - len(reasons), "tests real": len(real)}
    return figures | {"reasons": reasons}
