"""Random programs that write, train, infer, load, cast and share, held to a shadow of the network in plain NumPy.

A network (1 x 1 convolution, BatchNorm, relu, mean over the picture, Dense) lives as a hybridized block, a SymbolBlock, an
Executor or a Module. What is compiled keeps what follows from parameters, and so must notice every way in which a parameter
can change. The shadow computes every inference and every step of training in float64 from what arrays hold, and what they have to
hold after each write. ``python -m tests.training.interleavings 2000`` tries as many programs, all different from those of the test.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import hybrid as mx
from hybrid import autograd, gluon, nd, sym
from hybrid.execution import scheduler

CHANNELS, UNITS, CLASSES = 3, 5, 4
SHAPES = {
    "conv_weight": (UNITS, CHANNELS, 1, 1), "conv_bias": (UNITS,), "norm_gamma": (UNITS,), "norm_beta": (UNITS,),
    "dense_weight": (CLASSES, UNITS), "dense_bias": (CLASSES,), "norm_moving_mean": (UNITS,), "norm_moving_var": (UNITS,),
}  # fmt: skip
STATES = ("norm_moving_mean", "norm_moving_var")
TRAINED = tuple(n for n in SHAPES if n not in STATES)
EPS, KEEP = 1e-3, 0.9
Values = dict[str, np.ndarray]


def network() -> Any:
    """The symbol, of "data"."""
    h = sym.Convolution(sym.var("data"), kernel=(1, 1), num_filter=UNITS, name="conv")
    h = sym.Activation(sym.BatchNorm(h, eps=EPS, momentum=KEEP, fix_gamma=False, name="norm"), act_type="relu")
    return sym.FullyConnected(sym.mean(h, axis=(2, 3)), num_hidden=CLASSES, name="dense")


class Shadow:
    """The network in NumPy."""

    def __init__(self, values: Values):
        self.values = {n: np.asarray(v, np.float64) for n, v in values.items()}

    def forward(self, x: np.ndarray, training: bool) -> np.ndarray:
        v = self.values
        self.x = x.astype(np.float64)
        h = np.einsum("nchw,oc->nohw", self.x, v["conv_weight"][:, :, 0, 0]) + v["conv_bias"].reshape(-1, 1, 1)
        self.mean = h.mean((0, 2, 3)) if training else v["norm_moving_mean"]
        self.var = h.var((0, 2, 3)) if training else v["norm_moving_var"]
        self.scale = 1 / np.sqrt(self.var + EPS)
        self.unit = (h - self.mean.reshape(-1, 1, 1)) * self.scale.reshape(-1, 1, 1)
        self.normal = self.unit * v["norm_gamma"].reshape(-1, 1, 1) + v["norm_beta"].reshape(-1, 1, 1)
        self.pooled = np.maximum(self.normal, 0).mean((2, 3))
        return self.pooled @ v["dense_weight"].T + v["dense_bias"]

    def backward(self, head: np.ndarray) -> Values:
        """The gradients after a forward pass in training, which moves the statistics."""
        v, y = self.values, head.astype(np.float64)
        size = self.x.shape[2] * self.x.shape[3]
        g = (y @ v["dense_weight"])[:, :, None, None] / size * (self.normal > 0)
        found = {"dense_weight": y.T @ self.pooled, "dense_bias": y.sum(0)}
        found |= {"norm_gamma": (g * self.unit).sum((0, 2, 3)), "norm_beta": g.sum((0, 2, 3))}
        u, axes = g * v["norm_gamma"].reshape(-1, 1, 1), (0, 2, 3)
        u = u - u.mean(axes, keepdims=True) - self.unit * (u * self.unit).mean(axes, keepdims=True)
        u *= self.scale.reshape(-1, 1, 1)
        found |= {"conv_weight": np.einsum("nohw,nchw->oc", u, self.x)[:, :, None, None], "conv_bias": u.sum(axes)}
        for name, batch in zip(STATES, (self.mean, self.var)):
            v[name] = KEEP * v[name] + (1 - KEEP) * batch
        return found


# -- where the network lives ------------------------------------------------------------------------------------------------


class Surface:
    """Part of the API that a network lives in. ``array`` gives what it computes with; its own ways to change that are ``moves``."""

    names: Sequence[str] = tuple(SHAPES)
    gradients: dict[str, nd.NDArray]

    def __init__(self, values: Values, rng: np.random.Generator):
        raise NotImplementedError

    def array(self, name: str) -> nd.NDArray:
        """Array that the network computes with."""
        raise NotImplementedError

    def infer(self, x: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def train(self, x: np.ndarray, head: np.ndarray) -> Values:
        """Forward and backward: the gradients. No weight is written."""
        raise NotImplementedError

    def look(self, x: np.ndarray) -> np.ndarray:
        """Forward as in training, and no backward."""
        raise NotImplementedError

    def moves(self) -> dict[str, Callable[[Shadow, np.random.Generator], None]]:
        """By name: changes the arrays, and the shadow's values the same way."""
        return {}


class Block(Surface):
    """A block of Gluon, hybridized."""

    def __init__(self, values: Values, rng: np.random.Generator):
        self.net = self.made()
        self.net.initialize()
        self.net.hybridize(static_alloc=bool(rng.integers(2)))
        self.parameters = self.named()
        for name, value in values.items():
            self.parameters[name].set_data(nd.array(value))

    @staticmethod
    def made(**shared: Any) -> Any:
        net = gluon.nn.HybridSequential(prefix="net_", **shared)
        with net.name_scope():
            net.add(
                gluon.nn.Conv2D(UNITS, 1, in_channels=CHANNELS, prefix="conv_"),
                gluon.nn.BatchNorm(epsilon=EPS, momentum=KEEP, in_channels=UNITS, prefix="norm_"),
                gluon.nn.Activation("relu"),
                gluon.nn.GlobalAvgPool2D(),
                gluon.nn.Dense(CLASSES, in_units=UNITS, prefix="dense_"),
            )
        return net

    def named(self) -> dict[str, Any]:
        return {n.removeprefix("net_").replace("running", "moving"): p for n, p in self.net.collect_params().items()}

    def array(self, name: str) -> nd.NDArray:
        return self.parameters[name].data()

    def infer(self, x: np.ndarray) -> np.ndarray:
        return self.net(nd.array(x)).asnumpy()

    def look(self, x: np.ndarray) -> np.ndarray:
        with autograd.record():
            return self.net(nd.array(x)).asnumpy()

    def train(self, x: np.ndarray, head: np.ndarray) -> Values:
        with autograd.record():
            y = self.net(nd.array(x))
        y.backward(nd.array(head))
        return {n: self.parameters[n].grad().asnumpy() for n in TRAINED}

    def moves(self) -> dict[str, Callable[[Shadow, np.random.Generator], None]]:
        def trainer(shadow: Shadow, rng: np.random.Generator) -> None:
            x, head = picture(rng), rng.uniform(-1, 1, (2, CLASSES)).astype(np.float32)
            x = np.concatenate([x, x + 1])[:2]
            made = gluon.Trainer(self.net.collect_params(), "sgd", {"learning_rate": 0.5})
            shadow.forward(x, True)
            for name, gradient in shadow.backward(head).items():
                shadow.values[name] = shadow.values[name] - 0.5 / 2 * gradient
            self.train(x, head)
            made.step(2)

        def set_data(shadow: Shadow, rng: np.random.Generator) -> None:
            name = choose(rng)
            self.parameters[name].set_data(nd.array(anew(shadow, name, rng)))

        def load(shadow: Shadow, rng: np.random.Generator) -> None:
            with tempfile.TemporaryDirectory() as folder:
                path = str(Path(folder) / "net.params")
                self.net.save_parameters(path)
                kept = dict(shadow.values)
                self.array("dense_bias")[:] = anew(shadow, "dense_bias", rng)
                self.infer(picture(rng))
                self.net.load_parameters(path)
                shadow.values = kept

        def begin_again(shadow: Shadow, rng: np.random.Generator) -> None:
            self.net.initialize(mx.init.Uniform(1.0), force_reinit=True)
            self.array("norm_moving_var")[:] = 1.5  # SymbolBlock draws it like any other
            shadow.values = {n: self.array(n).asnumpy().astype(np.float64) for n in SHAPES}

        def cast(shadow: Shadow, rng: np.random.Generator) -> None:
            self.net.cast("float64")
            self.net(nd.array(picture(rng), dtype="float64"))
            self.net.cast("float32")

        def elsewhere(shadow: Shadow, rng: np.random.Generator) -> None:
            self.net.collect_params().reset_ctx([mx.cpu(0), mx.cpu(1)])
            x, name = picture(rng), choose(rng)
            there = self.parameters[name].list_data()[1]
            other = Shadow(shadow.values)
            there[:] = anew(other, name, rng)
            for _ in range(2):
                for one, device in ((shadow, mx.cpu(0)), (other, mx.cpu(1)), (shadow, mx.cpu(0))):
                    y = self.net(nd.array(x, ctx=device))
                    same(y.asnumpy(), one.forward(x, False), f"output on {device}")
            self.net.collect_params().reset_ctx(mx.cpu(0))
            shadow.values[name] = (shadow.values[name] + other.values[name]) / 2  # as reset_ctx brings devices together

        def other_block(shadow: Shadow, rng: np.random.Generator) -> None:
            twin = self.made(params=self.net.collect_params())
            twin.hybridize()
            x = picture(rng)
            same(twin(nd.array(x)).asnumpy(), shadow.forward(x, False), "output of a block with the same parameters")

        def freeze(shadow: Shadow, rng: np.random.Generator) -> None:
            parameter = self.parameters[TRAINED[int(rng.integers(len(TRAINED)))]]
            parameter.grad_req = "null"
            self.infer(picture(rng))
            parameter.grad_req = "write"

        def hybridize(shadow: Shadow, rng: np.random.Generator) -> None:
            self.net.hybridize(bool(rng.integers(2)), static_alloc=bool(rng.integers(2)))

        found = (trainer, set_data, load, begin_again, cast, elsewhere, other_block, freeze, hybridize)
        return {f.__name__: f for f in found}


class Imported(Block):
    """A SymbolBlock."""

    @staticmethod
    def made(**shared: Any) -> Any:
        return gluon.SymbolBlock(network(), sym.var("data"), **shared)

    def __init__(self, values: Values, rng: np.random.Generator):
        self.net = self.made()
        self.parameters = self.named()
        for name, value in values.items():
            self.parameters[name].shape = SHAPES[name]
            self.parameters[name].initialize()
            self.parameters[name].set_data(nd.array(value))
        self.net.hybridize(static_alloc=bool(rng.integers(2)))


class Bound(Surface):
    """An Executor."""

    def __init__(self, values: Values, rng: np.random.Generator):
        self.symbol = network()
        self.run = self.symbol.simple_bind(mx.cpu(), data=(2, CHANNELS, 2, 3), grad_req="write")
        self.run.copy_params_from(*self.split({n: nd.array(v) for n, v in values.items()}))

    @staticmethod
    def split(arrays: dict[str, nd.NDArray]) -> tuple[dict[str, nd.NDArray], dict[str, nd.NDArray]]:
        """Arguments and auxiliary states."""
        return {n: a for n, a in arrays.items() if n in TRAINED}, {n: a for n, a in arrays.items() if n in STATES}

    def array(self, name: str) -> nd.NDArray:
        return (self.run.aux_dict if name in STATES else self.run.arg_dict)[name]

    def fit(self, x: np.ndarray) -> Any:
        if self.run.arg_dict["data"].shape != x.shape:
            self.run = self.run.reshape(allow_up_sizing=True, partial_shaping=True, data=x.shape)
        return self.run

    def infer(self, x: np.ndarray) -> np.ndarray:
        return self.fit(x).forward(data=nd.array(x))[0].asnumpy()

    def look(self, x: np.ndarray) -> np.ndarray:
        return self.fit(x).forward(is_train=True, data=nd.array(x))[0].asnumpy()

    def train(self, x: np.ndarray, head: np.ndarray) -> Values:
        run = self.fit(x)
        run.forward(is_train=True, data=nd.array(x))
        run.backward(nd.array(head))
        return {n: run.grad_dict[n].asnumpy() for n in TRAINED}

    def moves(self) -> dict[str, Callable[[Shadow, np.random.Generator], None]]:
        def copy_params(shadow: Shadow, rng: np.random.Generator) -> None:
            names = [choose(rng) for _ in range(3)]
            self.run.copy_params_from(*self.split({n: nd.array(anew(shadow, n, rng)) for n in dict.fromkeys(names)}))

        def share(shadow: Shadow, rng: np.random.Generator) -> None:
            x = picture(rng)
            shared = {"shared_arg_names": list(TRAINED), "shared_exec": self.run, "shared_buffer": {}}
            other = self.symbol.simple_bind(mx.cpu(), data=x.shape, **shared)
            same(other.forward(data=nd.array(x))[0].asnumpy(), shadow.forward(x, False), "output of a second executor")
            head = rng.uniform(-1, 1, (len(x), CLASSES)).astype(np.float32)
            other.forward(is_train=True, data=nd.array(x))
            other.backward(nd.array(head))
            shadow.forward(x, True)
            shadow.backward(head)
            name = choose(rng)
            (other.aux_dict if name in STATES else other.arg_dict)[name][:] = nd.array(anew(shadow, name, rng))

        return {f.__name__: f for f in (copy_params, share)}


class Moduled(Surface):
    """A Module."""

    def __init__(self, values: Values, rng: np.random.Generator):
        self.module = mx.mod.Module(network(), label_names=None)
        self.module.bind([("data", (2, CHANNELS, 2, 3))], for_training=True)
        self.module.init_params()
        self.module.set_params(*Bound.split({n: nd.array(v) for n, v in values.items()}))

    @property
    def run(self) -> Any:
        return self.module._exec_group.execs[0]

    def array(self, name: str) -> nd.NDArray:
        return (self.run.aux_dict if name in STATES else self.run.arg_dict)[name]

    def forward(self, x: np.ndarray, training: bool) -> np.ndarray:
        self.module.forward(mx.io.DataBatch([nd.array(x)]), is_train=training)
        return self.module.get_outputs()[0].asnumpy()

    def infer(self, x: np.ndarray) -> np.ndarray:
        return self.forward(x, False)

    def look(self, x: np.ndarray) -> np.ndarray:
        return self.forward(x, True)

    def train(self, x: np.ndarray, head: np.ndarray) -> Values:
        self.forward(x, True)
        self.module.backward([nd.array(head)])
        return {n: self.run.grad_dict[n].asnumpy() for n in TRAINED}

    def moves(self) -> dict[str, Callable[[Shadow, np.random.Generator], None]]:
        def set_params(shadow: Shadow, rng: np.random.Generator) -> None:
            name = choose(rng)
            new = Bound.split({name: nd.array(anew(shadow, name, rng))})
            self.module.set_params(*new, allow_missing=True)
            shadow.values = {n: self.array(n).asnumpy() if n != name else v for n, v in shadow.values.items()}

        def update(shadow: Shadow, rng: np.random.Generator) -> None:
            x, head = picture(rng), rng.uniform(-1, 1, (1, CLASSES)).astype(np.float32)
            x = x[:1]
            settings = {"learning_rate": 0.5, "rescale_grad": 1.0}
            self.module.init_optimizer(optimizer_params=settings, force_init=True)
            shadow.forward(x, True)
            for name, gradient in shadow.backward(head).items():
                shadow.values[name] = shadow.values[name] - 0.5 * gradient
            self.train(x, head)
            self.module.update()

        return {f.__name__: f for f in (set_params, update)}


SURFACES = (Block, Imported, Bound, Moduled)


# -- what happens to it -----------------------------------------------------------------------------------------------------


def choose(rng: np.random.Generator) -> str:
    return tuple(SHAPES)[int(rng.integers(len(SHAPES)))]


def picture(rng: np.random.Generator) -> np.ndarray:
    """One of few shapes, so that each comes again; one is too large to be computed in the calling thread."""
    shape = ((2, CHANNELS, 2, 3), (1, CHANNELS, 4, 4), (2, CHANNELS, 2, 3), (3, CHANNELS, 160, 160))
    chosen = shape[int(rng.choice(4, p=(0.45, 0.3, 0.22, 0.03)))]
    return rng.uniform(-2, 2, chosen).astype(np.float32)


def anew(shadow: Shadow, name: str, rng: np.random.Generator) -> np.ndarray:
    """Other values for an array, which the shadow has from now on."""
    value = rng.uniform(0.2, 2, SHAPES[name]).astype(np.float32) * (1 if name.endswith("var") else rng.choice((-1, 1)))
    shadow.values[name] = value.astype(np.float64)
    return value.astype(np.float32)


def write(array: nd.NDArray, value: np.ndarray, rng: np.random.Generator) -> str:
    """Write the value to the array in one of many ways; gives which."""
    source, flat = nd.array(value), nd.array(value).reshape(-1)
    zero = nd.zeros(array.shape)

    def by_dlpack() -> None:
        np.from_dlpack(array)[...] = value

    def by_capsule() -> None:
        nd.from_dlpack(array.to_dlpack_for_read())[:] = source

    def by_halves() -> None:
        half = len(array) // 2
        array[:half], array[half:] = source[:half], source[half:]

    def by_view() -> None:
        array.reshape(-1)[:] = flat

    def by_row() -> None:
        for i in range(len(array)):
            array[i][:] = value[i]

    def in_place() -> None:
        nonlocal array
        array *= 0
        array += source

    def by_descent() -> None:
        nd.sgd_update(array, array - source, lr=1.0, wd=0.0, out=array)

    def by_momentum() -> None:
        nd.sgd_mom_update(array, array - source, zero, lr=1.0, wd=0.0, momentum=0.9, out=array)

    def by_several() -> None:
        nd.multi_sgd_update(array, array - source, out=[array], lrs=(1.0,), wds=(0.0,), num_weights=1)

    def by_loaded() -> None:
        rates = nd.array([1.0]), nd.array([0.0])
        nd.preloaded_multi_sgd_update(array, array - source, *rates, out=[array], num_weights=1)

    def by_store() -> None:
        store = mx.kv.create("local")
        store.init("w", source)
        store.pull("w", out=array)

    def while_others_wait() -> None:
        with scheduler.bulk(100):
            array[:] = nd.ones((1,)) * source

    ways: tuple[Callable[[], Any], ...] = (
        lambda: array.__setitem__(slice(None), source),
        lambda: array.__setitem__(slice(None), value),
        lambda: source.copyto(array),
        lambda: nd.elemwise_add(source, zero, out=array),
        lambda: nd._internal._copy(source, out=array),
        lambda: array._sync_copyfrom(value),
        by_dlpack, by_capsule, by_halves, by_view, by_row, in_place, by_descent, by_momentum, by_several, by_loaded,
        by_store, while_others_wait,
    )  # fmt: skip
    way = int(rng.integers(len(ways)))
    ways[way]()
    return f"{way} ({ways[way].__name__})"


def same(got: np.ndarray, wanted: np.ndarray, what: str) -> None:
    """Raise AssertionError unless they differ by rounding, 1e-4 of the scale: stale values are a hundred times further off."""
    scale = max(1.0, float(np.abs(wanted).max()))
    worst = float(np.abs(got - wanted).max())
    assert worst <= 1e-4 * scale, f"{what} is {worst / scale:.2g} of its scale away from the shadow's"


def interleave(surface: type[Surface], seed: int, length: int = 25) -> list[str]:
    """One program; gives what it did. Raises AssertionError where the network and its shadow part."""
    rng = np.random.default_rng((seed, SURFACES.index(surface)))
    mx.random.seed(seed)
    blank = Shadow({n: np.zeros(s) for n, s in SHAPES.items()})
    place = surface({n: anew(blank, n, rng) for n in SHAPES}, rng)
    shadow = Shadow(blank.values)
    moves = place.moves()
    done: list[str] = []
    try:
        for _ in range(length):
            kind = rng.choice(("infer", "train", "look", "write", "move"), p=(0.45, 0.15, 0.05, 0.2, 0.15))
            done.append(str(kind))
            x = picture(rng)
            if kind == "infer":
                for _ in range(int(rng.integers(1, 4))):
                    same(place.infer(x), shadow.forward(x, False), "inference")
            elif kind == "look":
                same(place.look(x), shadow.forward(x, True), "output in training")
            elif kind == "train":
                head = rng.uniform(-1, 1, (len(x), CLASSES)).astype(np.float32)
                shadow.forward(x, True)
                wanted, found = shadow.backward(head), place.train(x, head)
                for name in TRAINED:
                    same(found[name], wanted[name], f"gradient of {name}")
            elif kind == "write":
                name = choose(rng)
                done[-1] += f" {name} " + write(place.array(name), anew(shadow, name, rng), rng)
            else:
                move = tuple(moves)[int(rng.integers(len(moves)))]
                done[-1] += f" {move}"
                moves[move](shadow, rng)
            for name in SHAPES:
                value = place.array(name).asnumpy()
                same(value, shadow.values[name], name)
                shadow.values[name] = value.astype(np.float64)
    except AssertionError as error:
        raise AssertionError(f"{surface.__name__}, seed {seed}, after {'; '.join(done)}: {error}") from error
    return done


def main() -> None:
    """``python -m tests.training.interleavings [COUNT [FIRST]]``."""
    count, first = (*map(int, sys.argv[1:3]), *(200, 1000)[len(sys.argv) - 1 :])
    failures = 0
    for seed in range(first, first + count):
        for surface in SURFACES:
            try:
                interleave(surface, seed)
            except AssertionError as error:
                failures += 1
                print(error, flush=True)
    print(f"{count * len(SURFACES)} programs, {failures} wrong")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
