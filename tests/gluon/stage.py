"""The stage that the programs of this folder work with. They use gluon and are written for MXNet: fixtures/make/programs.py runs
them in MXNet 1.9.1, the tests in this engine, and what they show is compared."""

# ruff: noqa: N803, N806  F and classes are called as in every MXNet program
from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

Program = Callable[["Stage"], None]
PROGRAMS: dict[str, Program] = {}


class Stage:
    """Tools of a program, and the lines it showed: texts, and ("raises", names of the error's classes)."""

    def __init__(self, mx: Any, folder: Path):
        self.mx, self.nd, self.sym, self.gluon = mx, mx.nd, mx.sym, mx.gluon
        self.folder = folder
        self.lines: list[Any] = []

    def show(self, *values: Any) -> None:
        """Show values as print would."""
        self.lines.append(" ".join(map(str, values)))

    def raises(self, call: Callable[[], Any]) -> None:
        """Show the classes of the error that a call raises, the error's own first."""
        try:
            call()
        except Exception as error:
            self.lines.append(["raises", [c.__name__ for c in type(error).__mro__ if c is not object]])
            return
        self.lines.append("no error")

    def warned(self, call: Callable[[], Any], *words: str) -> Any:
        """Show which of the words are in the warnings of a call; gives the call's result."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = call()
        text = "\n".join(str(w.message) for w in caught)
        self.show("warned of", [word for word in words if word in text])
        return result

    def printed(self, call: Callable[[], Any]) -> None:
        """Show what a call prints."""
        with contextlib.redirect_stdout(io.StringIO()) as out:
            call()
        self.lines.extend(out.getvalue().splitlines())

    def graph(self, prefix: str) -> None:
        """Show the symbol of an exported model node by node."""
        symbol = self.mx.sym.load(f"{prefix}-symbol.json")
        attributes = symbol.attr_dict()
        for internal in symbol.get_internals():
            # __init__ of a Constant holds an address; "x" and "__x__" are two spellings of one thing
            own = attributes.get(internal.name, {})
            known = {k: v for k, v in own.items() if not v.startswith("Constant_") and f"__{k}__" not in own}
            self.show(internal.list_outputs(), sorted(known.items()))

    def parameters(self, filename: Any) -> None:
        """Show what a parameter file holds."""
        for name, array in self.nd.load(str(filename)).items():
            self.show(name, array.shape, array.dtype.__name__)


def program(function: Program) -> Program:
    """Register a program under its name."""
    PROGRAMS[function.__name__] = function
    return function


# -- layers to play with: no more than a parameter or two each ------------------------------------------------------------


def layers(s: Stage) -> tuple[Any, Any, Any]:
    """(Dense, Norm, Sequential), as classes of the package."""

    class Dense(s.gluon.HybridBlock):
        def __init__(self, units: int, in_units: int = 0, bias: bool = True, **kwargs: Any):
            super().__init__(**kwargs)
            self._units = units
            with self.name_scope():
                self.weight = self.params.get(
                    "weight", shape=(units, in_units), init=s.mx.init.One(), allow_deferred_init=True
                )
                self.bias = (
                    self.params.get("bias", shape=(units,), init="zeros", allow_deferred_init=True) if bias else None
                )

        def hybrid_forward(self, F: Any, x: Any, weight: Any, bias: Any = None) -> Any:
            options = {"num_hidden": self._units, "no_bias": bias is None, "name": "fwd"}
            return (
                F.FullyConnected(x, weight, **options) if bias is None else F.FullyConnected(x, weight, bias, **options)
            )

    class Norm(s.gluon.HybridBlock):
        def __init__(self, **kwargs: Any):
            super().__init__(**kwargs)
            with self.name_scope():
                for name, init, request in (
                    ("gamma", "ones", "write"),
                    ("beta", "zeros", "write"),
                    ("running_mean", "zeros", "null"),
                    ("running_var", "ones", "null"),
                ):
                    parameter = self.params.get(
                        name,
                        shape=(0,),
                        init=init,
                        grad_req=request,
                        allow_deferred_init=True,
                        differentiable=request == "write",
                    )
                    setattr(self, name, parameter)

        def hybrid_forward(self, F: Any, x: Any, **parameters: Any) -> Any:
            ordered = [parameters[n] for n in ("gamma", "beta", "running_mean", "running_var")]
            return F.BatchNorm(x, *ordered, fix_gamma=False, name="fwd")

    class Sequential(s.gluon.HybridBlock):
        def add(self, *blocks: Any) -> None:
            for block in blocks:
                self.register_child(block)

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            for block in self._children.values():
                x = block(x)
            return x

    return Dense, Norm, Sequential


def network(s: Stage, **kwargs: Any) -> Any:
    """Two dense layers with a norm between, as attributes."""
    Dense, Norm, _ = layers(s)

    class HybridNet(s.gluon.HybridBlock):
        def __init__(self, **kwargs: Any):
            super().__init__(**kwargs)
            with self.name_scope():
                self.hidden = Dense(3)
                self.norm = Norm()
                self.output = Dense(2, bias=False)

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            s.show("forward", type(x).__name__, x.name if isinstance(x, s.sym.Symbol) else x.shape)
            x = F.relu(self.hidden(x))
            x = self.norm(F.relu(x) + 1)
            return self.output(x * x)

    return HybridNet(**kwargs)


def filled(s: Stage) -> Any:
    """The network with weights that a formula gives."""
    net = network(s, prefix="net_")
    net.initialize()
    net(s.nd.zeros((1, 4)))
    for number, parameter in enumerate(net.collect_params().values()):
        count = parameter.data().size
        values = [(7 * i + 3 * number) % 11 / 8 + 0.125 for i in range(count)]  # exact in float32, variances positive
        parameter.set_data(s.nd.array(values).reshape(parameter.shape))
    return net
