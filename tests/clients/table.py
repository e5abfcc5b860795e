"""The clients: where each comes from, which version, and which of its own tests are run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Client:
    """A package that programs import, its tests as globs in a folder of the sources, and the job of its name in jobs/."""

    name: str
    package: str
    requirement: str
    source: str = ""
    tests: tuple[str, ...] = ()
    seconds: float = 120
    """Seconds that one of its test files may take."""
    path: str = ""
    """Folders where its tests look for modules of their own, besides their own."""

    @property
    def job(self) -> Path | None:
        """The program in jobs/, where there is one."""
        path = Path(__file__).parent / "jobs" / f"{self.name}.py"
        return path if path.exists() else None


CLIENTS = {
    client.name: client
    for client in (
        Client("gluoncv", "gluoncv", "gluoncv==0.10.5.post0", "gluoncv", ("tests/unittests/test_*.py",)),
        Client("gluonnlp", "gluonnlp", "gluonnlp==0.10.0", "gluonnlp", ("tests/unittest/**/test_*.py",), 300),
        Client(
            "gluonts",
            "gluonts",
            "gluonts==0.8.1",
            "gluonts",
            tuple(
                f"test/{folder}/test_*.py"
                for folder in (
                    "activation",
                    "block",
                    "distribution",
                    "kernels",
                    "representation",
                    "support",
                    "trainer",
                    "model/tpp",
                )
            ),
            seconds=600,
        ),
        Client(
            "keras",
            "keras",
            "keras-mxnet==2.2.4.3",
            "keras",
            ("tests/test_*.py", "tests/keras/**/*test*.py"),
            seconds=300,
        ),
        Client("sockeye", "sockeye", "sockeye==2.3.24", "sockeye", ("test/unit/test_*.py",)),
        Client("dgl", "dgl", "dgl==1.0.1"),
        Client("mxfusion", "mxfusion", "mxfusion==0.3.1", "mxfusion", ("testing/**/*test*.py",)),
        Client("xfer", "xfer", "xfer-ml==1.1.0", "xfer/xfer-ml", ("tests/unit/test_*.py",)),
        Client(
            "multi-model-server",
            "mms",
            "multi-model-server==1.1.11",
            "mms",
            ("mms/tests/unit_tests/**/test_*.py",),
            path="mms/tests/unit_tests",
        ),
        Client("mxboard", "mxboard", "mxboard==0.1.0", "mxboard", ("tests/python/unittest/test_*.py",)),
        Client("insightface", "insightface", "insightface==0.1.5"),
        Client("d2l", "d2l.mxnet", "d2l==0.17.6"),
        Client("autogluon", "autogluon.core", "autogluon.core==0.2.0"),
    )
}

BENEATH = (
    "setuptools<66", "wheel", "numpy==1.23.5", "scipy==1.10.1", "pandas==1.5.3", "mxnet==1.9.1", "graphviz==0.8.4", "requests",
    "urllib3", "idna", "certifi", "charset-normalizer", "pytz", "python-dateutil==2.9.0", "six", "pytest", "pytest-timeout",
    "iniconfig", "packaging", "pluggy", "pygments", "pytest-mock", "flaky", "mock", "nose==1.3.7", "paramz==0.9.6", "GPy==1.13.2",
    "pillow==9.5.0", "opencv-python-headless==4.7.0.72", "tqdm", "matplotlib==3.7.5", "contourpy==1.2.1", "cycler",
    "kiwisolver", "fonttools",
    "pyparsing", "pyyaml", "pydantic==1.10.13", "toolz", "ujson", "h5py==3.8.0", "typing-extensions", "networkx==2.8.8",
    "scikit-learn==1.2.2", "joblib", "threadpoolctl", "psutil", "protobuf==3.20.3", "easydict", "scikit-image==0.20.0",
    "imageio", "lazy_loader", "tifffile==2023.7.10", "PyWavelets==1.4.1", "decorator", "future", "prettytable", "wcwidth",
    "holidays==0.14.2", "convertdate", "PyMeeus", "korean_lunar_calendar", "hijri-converter", "regex", "sacremoses", "click",
    "portalocker", "yacs", "autocfg", "model-archiver", "keras_applications", "keras_preprocessing", "sacrebleu==1.4.14",
    "tensorboardX==2.5", "dill", "cloudpickle", "traitlets", "matplotlib-inline", "parso", "jedi", "ptyprocess", "pexpect",
    "pickleshare", "prompt_toolkit", "asttokens", "executing", "pure-eval", "stack-data", "backcall", "ipython==8.12.3", "mdurl",
    "markdown-it-py", "rich", "tabulate", "tzdata", "numpy-quaternion==2022.4.4", "more-itertools", "ConfigSpace==0.6.1",
    "autograd==1.6.2", "heapdict", "zipp", "importlib-metadata==6.8.0", "tornado", "fsspec", "locket", "partd",
    "zict==2.2.0", "sortedcontainers", "tblib", "msgpack", "dask==2023.5.0", "distributed==2023.5.0", "pycparser", "cffi",
    "cryptography", "bcrypt", "pynacl", "invoke", "paramiko", "jmespath", "botocore", "s3transfer", "boto3",
)  # fmt: skip
"""Packages under the clients, each installed by itself (``--no-deps``), in this order: their old metadata contradict each other."""
