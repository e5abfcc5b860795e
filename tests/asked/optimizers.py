"""Every setting of every optimizer, alone and with others, over several steps; rates, counts, sparse gradients, files."""

from __future__ import annotations

import numpy as np

from .questions import answered, ask, attempt, logged, numbers

SHARED = [
    {},
    {"wd": 0.1},
    {"clip_gradient": 0.2},
    {"rescale_grad": 0.25},
    {"wd": 0.1, "clip_gradient": 0.3, "rescale_grad": 0.5},
    {"begin_num_update": 3},
]
OWN = {
    "sgd": [{"momentum": 0.7}, {"momentum": 0.7, "wd": 0.1, "clip_gradient": 0.3, "rescale_grad": 0.5}],
    "ccsgd": [{"momentum": 0.3, "wd": 0.1}],
    "nag": [{"momentum": 0.7}, {"momentum": 0.7, "wd": 0.1, "clip_gradient": 0.3, "rescale_grad": 0.5}],
    "signum": [{"momentum": 0.0}, {"momentum": 0.6}, {"momentum": 0.6, "wd_lh": 0.2}, {"momentum": 0.0, "wd": 0.3}],
    "ftml": [{"beta1": 0.4}, {"beta2": 0.9}, {"epsilon": 0.05}],
    "lars": [
        {"momentum": 0.7},
        {"momentum": 0.7, "eta": 0.5, "wd": 0.1},
        {"momentum": 0.7, "eta": 0.5, "eps": 0.3},
        {"momentum": 0.7, "eta": 0.5, "momentum_correction": False},
        {"eta": 0.5, "rescale_grad": 0.5, "clip_gradient": 0.2, "wd": 0.1},
    ],
    "lbsgd": [
        {"momentum": 0.7, "warmup_strategy": s, "updates_per_epoch": 2, "warmup_epochs": 2, "batch_scale": b, "wd": 0.1}
        for s in ("linear", "power2", "sqrt", "lars", "other")
        for b in (1, 2)
    ]
    + [{"begin_epoch": 1, "updates_per_epoch": 2, "batch_scale": 4, "clip_gradient": 0.2}],
    "lamb": [
        {"beta1": 0.5},
        {"beta2": 0.9},
        {"epsilon": 0.1},
        {"lower_bound": 0.9},
        {"upper_bound": 0.2},
        {"bias_correction": False, "wd": 0.1},
    ],
    "dcasgd": [{"lamda": 3.0}],  # MXNet's has no momentum: it asks whether an array is true
    "adam": [{"beta1": 0.5}, {"beta2": 0.9}, {"epsilon": 0.1}, {"lazy_update": False}],
    "adagrad": [{"eps": 0.1}],
    "rmsprop": [
        {"gamma1": 0.5},
        {"epsilon": 0.1},
        {"clip_weights": 0.3},
        {"centered": True},
        {"centered": True, "gamma1": 0.5, "gamma2": 0.6, "epsilon": 0.1, "wd": 0.1},
        {"centered": True, "clip_weights": 0.3, "clip_gradient": 0.2, "rescale_grad": 0.5},
    ],
    "adadelta": [{"rho": 0.5}, {"epsilon": 0.1}],
    "ftrl": [{"lamda1": 0.2}, {"beta": 0.3}],
    "adamax": [{"beta1": 0.5}, {"beta2": 0.6}],
    "nadam": [{"beta1": 0.5}, {"beta2": 0.9}, {"epsilon": 0.1}, {"schedule_decay": 0.5}],
    "test": [],
}
DEFAULT_RATE = ("adam", "rmsprop", "adamax", "nadam", "lamb", "ftrl", "signum", "sgd")
"""Optimizers that are also asked with the rate they have when none is given."""


def trained(mx, name, settings, steps=4, dtype="float32", kind="default", context=None):
    """The weights after some steps, and what is remembered of them."""
    optimizer = mx.optimizer.create(name, param_idx2name={0: "fc_weight", 1: "fc_bias", 2: "bn_gamma"}, **settings)
    updater = mx.optimizer.get_updater(optimizer)
    context = context or mx.cpu()
    weights = [mx.nd.array(numbers(*s, seed=i), context, dtype) for i, s in enumerate(((3, 2), (4,), (2,)))]
    for step in range(steps):
        for i, weight in enumerate(weights):
            if kind != "default" and i:
                continue
            grad = mx.nd.array(numbers(*weight.shape, seed=10 * step + i), context, dtype)
            if kind != "default":
                grad[step % 3] = 0
                grad = grad.tostype(kind)
            updater(i, grad, weight)
    states = [s for i in range(3) if i in updater.states for s in flat(updater.states[i])]
    return {
        "weights": weights,
        "states": states,
        "updates": optimizer.num_update,
        "rate": float(optimizer.learning_rate),
    }


def flat(state):
    if state is None:
        return []
    return [a for part in state for a in flat(part)] if isinstance(state, (tuple, list)) else [state]


def told(settings):
    return " ".join(f"{k}={v}" for k, v in settings.items()) or "nothing"


def question(name):
    def settings(mx, folder):
        found = {}
        for given in SHARED + OWN[name]:
            given = {"learning_rate": 0.1, **given}
            steps = 9 if name == "lbsgd" else 4
            found[told(given)] = attempt(lambda given=given, steps=steps: trained(mx, name, given, steps))
        if name in DEFAULT_RATE:
            found["nothing"] = attempt(lambda: trained(mx, name, {}))
        return found

    settings.__name__ = name
    settings.__module__ = __name__
    return ask(settings)


for _name in OWN:
    question(_name)


@ask
def float64(mx, folder):
    names = ("sgd", "adam", "nag", "adamax", "nadam", "dcasgd", "signum", "ftml")
    return {n: attempt(lambda n=n: trained(mx, n, {"learning_rate": 0.1, "wd": 0.1}, dtype="float64")) for n in names}


@ask
def on_the_second_device(mx, folder):
    names = ("sgd", "lars", "adam", "lamb")
    return {n: trained(mx, n, {"learning_rate": 0.1, "wd": 0.1}, context=mx.cpu(1)) for n in names}


@ask
def row_sparse_gradients(mx, folder):
    """Rows without a gradient stay, and so do their states, unless lazy_update is off."""
    found = {}
    for name, rows in {
        "sgd": [
            {},
            {"momentum": 0.7},
            {"momentum": 0.7, "lazy_update": False},
            {"wd": 0.3},
            {"wd": 0.3, "lazy_update": False},
        ],
        "adam": [{}, {"lazy_update": False}, {"wd": 0.3}],
        "adagrad": [{}, {"eps": 0.1}, {"clip_gradient": 0.2}, {"rescale_grad": 0.5}],
        "ftrl": [{}, {"lamda1": 0.2, "wd": 0.1}],
        "groupadagrad": [{}, {"eps": 0.1}, {"clip_gradient": 0.2, "rescale_grad": 0.5}],
    }.items():
        for given in rows:
            given = {"learning_rate": 0.1, **given}
            found[f"{name} {told(given)}"] = attempt(lambda n=name, g=given: trained(mx, n, g, kind="row_sparse"))
    return found


@ask
def rates_and_decays(mx, folder):
    """Multipliers by name, by index, of the symbol's attributes and of parameters; schedulers; what may not be set."""
    data = mx.sym.var("data")
    with mx.AttrScope(lr_mult="0.5"):
        weight = mx.sym.var("fc_weight", wd_mult=3.0)
    net = mx.sym.FullyConnected(data, weight, mx.sym.var("fc_bias", lr_mult=4.0), num_hidden=2, name="fc")
    names = {0: "fc_weight", 1: "fc_bias", 2: "bn_gamma", 3: "bn_beta", 4: "other"}
    found = {}
    for key, more in {
        "names": {},
        "symbol": {"sym": net},
        "no names": {"param_idx2name": None},
        "scheduler": {"lr_scheduler": mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.4)},
    }.items():
        for kind in ("sgd", "lars"):
            made = mx.optimizer.create(kind, **{"wd": 0.1, "param_idx2name": names, **more})
            told = [[made._get_lr(i), made._get_wd(i)] for i in range(5)]
            made.set_lr_mult({"fc_bias": 2.0, 3: 5.0})
            made.set_wd_mult({"fc_weight": 0.25, 4: 7.0})
            told += [[made._get_lr(i), made._get_wd(i)] for i in range(5)]
            for i in range(3):
                made._update_count([0, 1] if i else 0)
            told += [made.learning_rate, made.num_update, made._index_update_count, made.lr_mult, made.wd_mult]
            made._set_current_context(1)
            made._update_count(0)
            told += [made.num_update, made._index_update_count, attempt(lambda m=made: m.set_learning_rate(0.7))]
            found[f"{key} {kind}"] = [*told, made.learning_rate, made.lr]
    weight = mx.gluon.Parameter("p_weight", shape=(1,), lr_mult=0.25, wd_mult=6.0)
    made = mx.optimizer.create("sgd", wd=0.1, learning_rate=0.2, param_dict={0: weight}, param_idx2name={1: "fc_bias"})
    made.set_lr_mult({0: 9.0})
    found["parameters"] = [made._get_lrs([0, 1]), made._get_wds([0, 1])]
    scheduler = mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.4)
    found["overwritten"] = mx.optimizer.create("sgd", learning_rate=0.3, lr_scheduler=scheduler).learning_rate
    made = mx.optimizer.create(
        "SGD", begin_num_update=5, lr_scheduler=mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.4)
    )
    found["from the fifth"] = [made.learning_rate, made.num_update]
    made._update_count(0)
    found["from the sixth"] = [made.learning_rate, made.num_update, made._index_update_count]
    for key, call in {
        "scale": lambda: made.set_lr_scale({}),
        "name": lambda: mx.optimizer.create("nonsense"),
        "names as a list": lambda: mx.optimizer.create("sgd", param_idx2name=["a"]),
        "matrix": lambda: trained(mx, "groupadagrad", {}),
        "decay": lambda: mx.optimizer.create("groupadagrad", wd=0.1).update(
            0, mx.nd.array(numbers(2, 2)), mx.nd.array(numbers(2, 2)), mx.nd.zeros((2, 1))
        ),
        "numbers": lambda: mx.optimizer.create("sgd").update(0, 1.0, 2.0, None),
        "numbers for adam": lambda: mx.optimizer.create("adam").update(0, 1.0, 2.0, None),
    }.items():
        found[key] = attempt(call)
    return found


@ask
def lists_of_weights(mx, folder):
    """Lists of more weights than one operator takes, of two dtypes; the states that are made, and those found again."""
    found = {}
    for name in ("sgd", "lars", "lamb", "adam"):
        for multi in (False, True):
            names = {
                10 * i: f"fc{i}_{'bias' if i in (0, 3, 4) else 'weight'}" for i in range(7)
            }  # LARS scales weights only
            made = mx.optimizer.create(name, learning_rate=0.1, wd=0.05, multi_precision=multi, param_idx2name=names)
            updater = mx.optimizer.get_updater(made)
            kinds = ["float32", "float16", "float32", "float16", "float32", "float32", "float32"]
            weights = [mx.nd.array(numbers(2, 3, seed=i), dtype=k) for i, k in enumerate(kinds)]
            for step in range(3):
                grads = [mx.nd.array(numbers(2, 3, seed=20 + 7 * step + i), dtype=k) for i, k in enumerate(kinds)]
                updater([10 * i for i in range(7)], grads, weights)
            found[f"{name} {multi}"] = {
                "weights": [w.astype("float32").round() if w.dtype.__name__ == "float16" else w for w in weights],
                "states": sorted(updater.states),
                "dtypes": [[s.dtype.__name__ for s in flat(updater.states[10 * i])] for i in range(7)],
                "aggregates": [updater.aggregate_updates, made.aggregate_num],
            }
    return found


@ask
def states_from_a_file(mx, folder):
    """Training that is broken off and taken up again from what was saved ends where it would have."""
    found = {}
    for name, given in (("sgd", {"momentum": 0.7}), ("adam", {}), ("nadam", {}), ("rmsprop", {"centered": True})):
        for whole in (False, True):
            weight = mx.nd.array(numbers(2, 3))
            scheduler = mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.1)
            updater = mx.optimizer.get_updater(mx.optimizer.create(name, lr_scheduler=scheduler, **given))
            for step in range(5):
                if step == 3:
                    saved = updater.get_states(dump_optimizer=whole)
                    updater = mx.optimizer.get_updater(mx.optimizer.create(name, learning_rate=0.3, **given))
                    updater.set_states(saved)
                updater("w", mx.nd.array(numbers(2, 3, seed=step)), weight)
            found[f"{name} {whole}"] = [weight, updater.optimizer.num_update, float(updater.optimizer.learning_rate)]
    return found


SCHEDULES = [
    ("FactorScheduler", {"step": 3, "factor": 0.5, "base_lr": 0.8}),
    ("FactorScheduler", {"step": 2, "factor": 0.5, "stop_factor_lr": 0.15, "base_lr": 0.8}),
    ("FactorScheduler", {"step": 3, "factor": 0.5, "base_lr": 0.8, "warmup_steps": 4, "warmup_begin_lr": 0.2}),
    ("FactorScheduler", {"step": 1}),
    ("MultiFactorScheduler", {"step": [2, 3, 9], "factor": 0.3, "base_lr": 0.8}),
    ("MultiFactorScheduler", {"step": [1], "factor": 0.3}),
    (
        "MultiFactorScheduler",
        {"step": [2, 6], "factor": 0.3, "base_lr": 0.8, "warmup_steps": 3, "warmup_mode": "constant"},
    ),
    ("PolyScheduler", {"max_update": 7, "base_lr": 0.8}),
    ("PolyScheduler", {"max_update": 7, "base_lr": 0.8, "pwr": 3, "final_lr": 0.1}),
    ("PolyScheduler", {"max_update": 7, "warmup_steps": 3, "warmup_begin_lr": 0.002}),
    ("CosineScheduler", {"max_update": 7, "base_lr": 0.8}),
    ("CosineScheduler", {"max_update": 7, "base_lr": 0.8, "final_lr": 0.1, "warmup_steps": 2, "warmup_begin_lr": 0.3}),
    (
        "CosineScheduler",
        {"max_update": 9, "final_lr": 0.001, "warmup_steps": 2, "warmup_begin_lr": 0.005, "warmup_mode": "constant"},
    ),
]


@ask
def schedules(mx, folder):
    """Rates at every update, when asked twice, after leaps, and under another base_lr as Trainer sets it; what is logged."""
    found = {}
    for number, (name, settings) in enumerate(SCHEDULES):
        made = getattr(mx.lr_scheduler, name)(**settings)
        with logged() as lines:
            every = [made(i) for i in range(12)]
            every += [made(3), made(20)]
        leap = getattr(mx.lr_scheduler, name)(**settings)
        leap.base_lr = 0.5
        found[f"{number} {name}"] = [every, [leap(8), leap(1), leap(100)], lines, made.base_lr, made.warmup_final_lr]
    base = mx.lr_scheduler.LRScheduler(0.5, 4, 0.1)
    found["warming up"] = [
        [base.get_warmup_lr(i) for i in range(4)],
        attempt(lambda: base.get_warmup_lr(4)),
        attempt(lambda: base(1)),
    ]
    for name, settings in [
        ("LRScheduler", {"base_lr": 0.1, "warmup_begin_lr": 0.2}),
        ("LRScheduler", {"base_lr": 0.1, "warmup_begin_lr": 0.1}),
        ("LRScheduler", {"warmup_steps": -1}),
        ("LRScheduler", {"warmup_steps": 1.5}),
        ("LRScheduler", {"warmup_mode": "cubic"}),
        ("FactorScheduler", {"step": 0}),
        ("FactorScheduler", {"step": 1, "factor": 1.1}),
        ("FactorScheduler", {"step": 1, "factor": 1.0}),
        ("MultiFactorScheduler", {"step": []}),
        ("MultiFactorScheduler", {"step": (1, 2)}),
        ("MultiFactorScheduler", {"step": [2, 2]}),
        ("MultiFactorScheduler", {"step": [3, 2]}),
        ("MultiFactorScheduler", {"step": [0, 2]}),
        ("MultiFactorScheduler", {"step": [1, 2], "factor": 1.1}),
        ("PolyScheduler", {"max_update": 0}),
        ("PolyScheduler", {"max_update": 1.5}),
        ("CosineScheduler", {"max_update": -1}),
    ]:
        call = attempt(lambda n=name, s=settings: type(getattr(mx.lr_scheduler, n)(**s)).__name__)
        found[f"{name} {told(settings)}"] = call
    return found


@ask
def row_sparse_states(mx, folder):
    """States of row_sparse weights: how they are stored, and what updates make of them."""
    given = {
        "SGD": [{}, {"momentum": 0.9}, {"momentum": 0.9, "lazy_update": False}], "Signum": [{}], "LBSGD": [{"momentum": 0.9}],
        "LARS": [{"momentum": 0.9}, {"momentum": 0.9, "lazy_update": False}], "LAMB": [{}], "Adam": [{}, {"lazy_update": False}],
        "AdaGrad": [{}], "RMSProp": [{}, {"centered": True}], "Ftrl": [{}], "NAG": [{"momentum": 0.9}], "AdaDelta": [{}],
        "Adamax": [{}], "Nadam": [{}], "FTML": [{}], "DCASGD": [{"momentum": 0.9}],
    }  # fmt: skip
    found = {}
    for name, options in given.items():
        for option in options:
            for kind in ("row_sparse", "default"):
                for written in (True, False):

                    def stepped(name=name, option=option, kind=kind, written=written):
                        optimizer = mx.optimizer.create(name, learning_rate=0.1, **option)
                        values = numbers(6, 2) if written else np.zeros((6, 2), np.float32)
                        weight = mx.nd.array(values).tostype("row_sparse")
                        state = optimizer.create_state_multi_precision(0, weight)
                        parts = [s for s in (state if isinstance(state, tuple) else [state]) if s is not None]
                        kept = [s.stype for s in parts]
                        for step in range(2):
                            rows = mx.nd.sparse.row_sparse_array(
                                (numbers(2, 2, seed=step), [1, 4 + step]), shape=(6, 2)
                            )
                            gradient = rows if kind == "row_sparse" else rows.tostype("default")
                            optimizer.update_multi_precision(0, weight, gradient, state)
                        mx.nd.waitall()
                        return [kept, [s.stype for s in parts], weight.stype, weight, parts]

                    found[f"{name} {option} {kind} {written}"] = answered(stepped)
    return found
