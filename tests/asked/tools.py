"""Tools of tests (test_utils), control flow, and update rules as functions: decisions and numbers."""

# ruff: noqa: B023, N803  calls are made at once, and F is called as in every MXNet program
from __future__ import annotations

import contextlib
import io
import os

import numpy as np

from .questions import ask, attempt, numbers, plain


def verdict(call):
    """True where a check lets something pass."""
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            result = call()
        except Exception as error:
            return type(error).__name__
    return "passes" if result is None else plain(result)


@ask
def comparisons(mx, folder):
    t = mx.test_utils
    a = numbers(3, 4, low=0.5, high=2.0).astype(np.float64)
    near, far = a * (1 + 5e-6), a + 0.01
    nan, other = a.copy(), a.copy()
    nan[1, 2] = np.nan
    other[0, 0] += 1
    pairs = {"same": (a, a.copy()), "near": (a, near), "far": (a, far), "nan": (nan, nan.copy()), "one": (a, other)}
    found = {}
    for key, (x, y) in pairs.items():
        for kind in (np.float64, np.float32, np.float16):
            p, q = x.astype(kind), y.astype(kind)
            arrays = mx.nd.array(p, dtype=kind), mx.nd.array(q, dtype=kind)
            found[f"{key} {kind.__name__}"] = [
                verdict(lambda: t.assert_almost_equal(p, q)),
                verdict(lambda: t.assert_almost_equal(*arrays)),
                verdict(lambda: t.assert_almost_equal(p, q, equal_nan=True)),
                verdict(lambda: t.assert_almost_equal(p, q, rtol=0.1, atol=0.1)),
                verdict(lambda: t.assert_almost_equal(p, q, rtol=1e-7, atol=1e-7)),
                verdict(lambda: t.assert_almost_equal(p, q, use_broadcast=False)),
                verdict(lambda: t.assert_almost_equal_with_err(p, q, etol=0.1)),
                verdict(lambda: t.assert_almost_equal_with_err(p, q, etol=0.0)),
                verdict(lambda: t.assert_almost_equal_ignore_nan(p, q)),
                verdict(lambda: t.assert_allclose(p, q)),
                verdict(lambda: t.assert_allclose(p, q, rtol=1e-5, atol=1e-5)),
                bool(t.almost_equal(p, q)),
                bool(t.almost_equal(p, q, rtol=0.1, atol=0.0, equal_nan=True)),
                bool(t.same(p, q)),
                verdict(
                    lambda: t.compare_ndarray_tuple((arrays[0], (arrays[1], None)), (arrays[1], (arrays[1], None)))
                ),
            ]
    found["by dtype"] = [
        verdict(lambda: t.assert_almost_equal(np.float32([1]), np.float64([1.00005]))),
        verdict(lambda: t.assert_almost_equal(np.float16([1]), np.float64([1.05]))),
        verdict(lambda: t.assert_almost_equal(np.int32([1]), np.int32([2]))),
        verdict(
            lambda: t.assert_almost_equal(a, far, rtol={np.dtype("float64"): 0.1}, atol={np.dtype("float64"): 0.1})
        ),
        verdict(lambda: t.assert_almost_equal(np.array([True]), np.array([False]))),
        [t.get_rtol(), t.get_rtol(0.5), t.get_atol(), t.get_atol(0.5), t.get_etol(), t.get_etol(0.25)],
        [
            t.get_tolerance(np.float32([1]), tol, {np.dtype("float32"): 3.0})
            for tol in (0.5, None, {np.dtype("float32"): 2.0}, {})
        ],
    ]
    one = mx.nd.array(a)
    found["memory"] = [
        t.same_array(one, one),
        t.same_array(one, one.copy()),
        t.same_array(one, one.reshape((4, 3)).reshape((3, 4))),
    ]
    found["raised"] = [
        verdict(lambda: t.assert_exception(lambda: 1 / 0, ZeroDivisionError)),
        verdict(lambda: t.assert_exception(lambda: 1, ZeroDivisionError)),
        verdict(lambda: t.assert_exception(lambda: [][1], ZeroDivisionError)),
    ]
    found["shapes"] = [verdict(lambda: t.checkShapes(a, a)), verdict(lambda: t.checkShapes(a, a[0]))]
    found["where"] = [
        t.locationError(a, other, (0, 0), ("x", "y")),
        t.locationError(a, other, (1, 2), ("x", "y"), maxError=True),
    ]
    return found


@ask
def checks(mx, folder):
    """Symbols whose values and gradients are right, and such as are not."""
    t = mx.test_utils
    a, b = (mx.sym.var(n) for n in "ab")
    x, y, g = numbers(2, 3), numbers(2, 3, seed=1), numbers(2, 3, seed=2)
    product = a * b + a
    found = {"forward": t.simple_forward(product, a=x, b=y)}
    several = t.simple_forward(mx.sym.Group([a + b, a - b]), a=x, b=y)
    found["several"] = list(several)
    right, wrong = x * y + x, x * y + x + 0.1
    found["checked"] = [
        verdict(lambda w=w, v=v: [o.asnumpy() for o in t.check_symbolic_forward(product, v, w)])
        for v in ([x, y], {"a": x, "b": y})
        for w in ([right], [wrong], {"_plus0_output": right})
    ]
    found["checked"] += [
        verdict(lambda: [o.asnumpy() for o in t.check_symbolic_forward(product, [x, y], [wrong], rtol=0.5, atol=0.5)]),
        verdict(lambda: t.check_symbolic_forward(product, {"a": x, "c": y}, [right])),
        verdict(lambda: t.check_symbolic_forward(product, [x, y], [right], dtype=np.int32)),
        verdict(lambda: t.check_symbolic_forward(product, 3, [right])),
    ]
    da, db = g * (y + 1), g * x
    for key, given in {
        "list": ([da, db], {}),
        "dict": ({"a": da, "b": db}, {}),
        "one of them": ({"b": db}, {}),
        "wrong": ([da, db + 0.1], {}),
        "added": ([da, db], {"grad_req": "add"}),
        "none": ({"a": da, "b": db}, {"grad_req": "null"}),
        "each": ([da, db], {"grad_req": {"a": "write", "b": "add"}}),
        "in order": ([da, db], {"grad_req": ["add", "write"]}),
        "in order wrong": ([da, da], {"grad_req": ["add", "write"]}),
        "loose": ([da, db + 0.1], {"rtol": 0.5, "atol": 0.5}),
    }.items():
        expected, more = given
        names = ["a", "b"] if len(expected) == 2 else ["b"]
        if more.get("grad_req") == "null":
            found[f"backward {key}"] = (
                verdict(lambda: t.check_symbolic_backward(product, [x, y], [g], expected, **more)) != "AssertionError"
            )
            continue
        call = verdict(lambda: sorted(t.check_symbolic_backward(product, [x, y], [g], expected, **more)))
        found[f"backward {key}"] = [call, names]

    class Wrong(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] * in_data[0])

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0] * in_data[0] * 3)

    @mx.operator.register("asked_wrong_square")
    class WrongProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Wrong()

    bad = mx.sym.Custom(a, op_type="asked_wrong_square")
    np.random.seed(4)
    found["numeric"] = [
        verdict(lambda: t.check_numeric_gradient(product, [x, y], rtol=1e-2, atol=1e-3)),
        verdict(lambda: t.check_numeric_gradient(product, {"a": x, "b": y}, grad_nodes=["b"], rtol=1e-2, atol=1e-3)),
        verdict(
            lambda: t.check_numeric_gradient(product, {"a": x, "b": y}, grad_nodes={"a": "add"}, rtol=1e-2, atol=1e-3)
        ),
        verdict(
            lambda: t.check_numeric_gradient(product, [x.astype(np.float64), y.astype(np.float64)], dtype=np.float64)
        ),
        verdict(lambda: t.check_numeric_gradient(bad, [x], rtol=1e-2, atol=1e-3)),
        verdict(lambda: t.check_numeric_gradient(bad, [x], rtol=1.0, atol=1.0)),
        verdict(lambda: t.check_numeric_gradient(product, [x, y], dtype=np.int32)),
    ]
    norm = mx.sym.BatchNorm(
        a, mx.sym.var("g"), mx.sym.var("c"), mx.sym.var("m"), mx.sym.var("v"), fix_gamma=False, use_global_stats=True
    )
    states = {"m": numbers(3), "v": numbers(3, low=0.5, high=1.5)}
    wanted = (x - states["m"]) / np.sqrt(states["v"] + 1e-3) * y[0] + g[0]
    location = {"a": x, "g": y[0], "c": g[0]}
    found["states"] = [
        verdict(
            lambda: [
                o.asnumpy() for o in t.check_symbolic_forward(norm, location, [wanted], rtol=1e-4, aux_states=states)
            ]
        ),
        verdict(
            lambda: [
                o.asnumpy()
                for o in t.check_symbolic_forward(norm, location, [wanted], aux_states=[states["m"], states["v"]])
            ]
        ),
        verdict(lambda: t.check_symbolic_forward(norm, location, [wanted], aux_states={"m": states["m"]})),
        verdict(lambda: t.check_numeric_gradient(norm, location, states, rtol=0.05, atol=0.01)),
    ]
    ways = [
        {"ctx": mx.cpu(), "a": (2, 3), "b": (2, 3), "type_dict": {"a": k, "b": k}} for k in (np.float64, np.float32)
    ]
    np.random.seed(4)
    found["consistent"] = [
        verdict(lambda: t.check_consistency(product, ways) is None),
        verdict(lambda: t.check_consistency([product, a * b + a * 1.5], ways)),
        verdict(lambda: t.check_consistency([product, a - b], ways)),
        verdict(lambda: t.check_consistency(product, ways[:1])),
    ]
    found["structure"] = [
        t.same_symbol_structure(product, mx.sym.var("x") * mx.sym.var("y") + mx.sym.var("x")),
        t.same_symbol_structure(product, a * b - a),
    ]
    s = mx.optimizer.SGD
    found["optimizers"] = [
        verdict(lambda: t.compare_optimizer(s(momentum=0.5), s(momentum=0.5), (3, 4), np.float32)),
        verdict(lambda: t.compare_optimizer(s(learning_rate=0.5), s(learning_rate=0.1), (3, 4), np.float32)),
        verdict(lambda: t.compare_optimizer(s(), s(wd=0.9, learning_rate=0.5), (3, 4), np.float32)),
        verdict(lambda: t.compare_optimizer(s(), s(), [(3, 4), (2,)], np.float32, ntensors=2)),
        verdict(lambda: t.compare_optimizer(s(), s(learning_rate=0.9), [(3, 4), (2,)], np.float32, ntensors=2)),
        verdict(lambda: t.compare_optimizer(s(), s(), (3, 4), np.float32, w_stype="default", g_stype="row_sparse")),
    ]
    return found


@ask
def material(mx, folder):
    """Arrays and shapes that tests are made of, refusals of what may not be asked for, environments, retries."""
    t, found = mx.test_utils, {}
    x = numbers(2, 3, 4).astype(np.float64)
    found["reduced"] = [
        t.np_reduce(x, axis, keep, np.sum) for axis in (None, 1, (0, 2), [2]) for keep in (True, False)
    ] + [t.np_reduce(x, 1, True, np.max)]
    found["collapsed"] = [t.collapse_sum_like(x, s) for s in ((2, 3, 4), (1, 3, 1), (3, 4), (4,), (2, 1, 4), (1,))]
    found["each"] = [
        t.assign_each(x, lambda v: v * 2 + 1),
        t.assign_each(x, None),
        t.assign_each2(x, x + 1, lambda a, b: a * b),
        t.assign_each2(x, x, None),
    ]
    found["made"] = [
        t.create_vector(4),
        t.create_vector(3, "float32"),
        t.create_2d_tensor(2, 3),
        t.create_2d_tensor(3, 2, "int32"),
        t.get_identity_mat(3),
        t.get_identity_mat_batch(2),
    ]
    np.random.seed(9)
    shapes = [
        t.rand_shape_2d(3, 9),
        t.rand_shape_3d(2, 3, 9),
        t.rand_shape_nd(4, 5),
        t.rand_shape_2d(1, 1),
        t.rand_coord_2d(2, 5, 7, 9),
    ]
    found["shapes"] = [[int(v) for v in s] for s in shapes]
    drawn = [t.random_arrays((2, 3), (4,)), t.random_arrays((2,))]
    found["drawn"] = [[a.shape for a in drawn[0]], drawn[1].shape, drawn[0][0].dtype.name]
    uniform = t.random_uniform_arrays((50,), (3, 2), low=2, high=5, dtype="float64")
    found["uniform"] = [
        [u.shape for u in uniform],
        bool((uniform[0] >= 2).all() and (uniform[0] < 5).all()),
        uniform[1].dtype.name,
    ]
    picked = t.random_sample([3, 1, 4, 1, 5], 3)
    found["sample"] = [len(picked), all(p in (3, 1, 4, 5) for p in picked), len(t.random_sample([1, 2], 2))]
    for stype in ("row_sparse", "csr"):
        for density in (0.0, 0.5, 1.0):
            made = t.rand_ndarray((4, 5), stype, density=density)
            count = made.indices.shape[0]
            found[f"sparse {stype} {density}"] = [made.stype, made.shape, count if density in (0.0, 1.0) else 0]
        if stype == "row_sparse":  # MXNet's csr ones want SciPy
            fixed = t.create_sparse_array((4, 3), stype, data_init=2.5, rsp_indices=[3, 1], density=1.0)
            found["fixed"] = [fixed.asnumpy(), fixed.indices]
            changed = t.create_sparse_array((4, 3), stype, modifier_func=lambda v: 7.0, density=1.0, rsp_indices=[0, 2])
            found["changed"] = changed.asnumpy()
    found["rows"] = [
        t.create_sparse_array_zd((4, 3), "row_sparse", 0.5, data_init=3.0, rsp_indices=r).asnumpy()
        for r in ([1], [0, 3])
    ]
    found["refused"] = [
        verdict(lambda: t.rand_ndarray((2, 3), "nothing")),
        verdict(lambda: t.random_uniform_arrays((2,), wrong=1)),
        verdict(lambda: t.retry(0)),
        verdict(lambda: t.create_sparse_array((2, 3), "nothing")),
    ]
    for make in (t.new_matrix_with_real_eigvals_2d, t.new_sym_matrix_with_real_eigvals_2d, t.new_orthonormal_matrix_2d):
        m = make(3)
        values = np.linalg.eigvals(m)
        found[make.__name__] = [
            m.shape,
            bool(np.isreal(values).all()) or "ortho" in make.__name__,
            bool(np.allclose(m, m.T)) if "sym" in make.__name__ else 0,
        ]
    found["stacks"] = [
        t.new_matrix_with_real_eigvals_nd((2, 3, 2, 2)).shape,
        t.new_sym_matrix_with_real_eigvals_nd((3, 2, 2)).shape,
    ]
    os.environ["ASKED_B"] = "before"
    with t.environment("ASKED_A", "1"):
        inside = [os.environ.get("ASKED_A")]
    with t.environment({"ASKED_A": "2", "ASKED_B": None}):
        inside += [os.environ.get("ASKED_A"), os.environ.get("ASKED_B")]
    found["environment"] = [*inside, os.environ.get("ASKED_A"), os.environ.pop("ASKED_B")]
    for times in (1, 2, 3):
        calls = []

        @t.retry(times)
        def flaky(limit=3):
            calls.append(1)
            assert len(calls) >= limit

        found[f"retried {times}"] = [verdict(flaky), len(calls)]
    found["places"] = [str(t.default_context()), t.list_gpus() == [] or len(t.list_gpus()), t.default_dtype().__name__]
    dummy = t.DummyIter(mx.io.NDArrayIter(numbers(6, 2), np.arange(6), 2))
    found["dummy"] = [next(dummy).data[0], next(dummy).data[0], dummy.batch_size]
    buckets, chances = t.gen_buckets_probs_with_ppf(lambda p: p * p, 4)
    found["buckets"] = [[list(b) for b in buckets], chances]
    even = (np.arange(1000) + 0.5) / 1000
    found["verified"] = [
        bool(t.mean_check(lambda n: even[:n], 0.5, np.sqrt(1 / 12), nsamples=1000)),
        bool(t.mean_check(lambda n: even[:n], 0.6, np.sqrt(1 / 12), nsamples=1000)),
        bool(t.var_check(lambda n: even[:n], np.sqrt(1 / 12), nsamples=1000)),
        bool(t.var_check(lambda n: even[:n], 0.5, nsamples=1000)),
    ]
    return found


@ask
def control_flow(mx, folder):
    """Loops over arrays and over symbols: nested data, several states, free variables, gradients, what ends them."""
    found, x, w = {}, numbers(4, 2, 3), numbers(2, 3, seed=5)
    nd, sym = mx.nd, mx.sym

    def foreach(F, data, state, weight):
        def body(part, held):
            first = part * weight + held[0]
            return [first, part - held[1]], [first * 0.5, held[1] + part]

        return F.contrib.foreach(body, data, state)

    arrays = [nd.array(x), nd.array(w), nd.array(w * 2), nd.array(w * 3)]
    for a in arrays:
        a.attach_grad()
    with mx.autograd.record():
        outs, states = foreach(nd, arrays[0], arrays[1:3], arrays[3])
        loss = (outs[0] * 2).sum() + (outs[1] * outs[1]).sum() + states[0].sum() * 3 + (states[1] * states[1]).sum()
    loss.backward()
    found["foreach"] = [outs, states, [a.grad for a in arrays]]
    names = [sym.var(n) for n in "abcd"]
    outs, states = foreach(sym, names[0], names[1:3], names[3])
    group = sym.Group([*outs, *states])
    executor = group.bind(
        mx.cpu(), {n: v for n, v in zip("abcd", arrays)}, {n: nd.zeros(v.shape) for n, v in zip("abcd", arrays)}
    )
    found["foreach symbol"] = [executor.forward(is_train=True), group.list_arguments(), len(group.list_outputs())]
    executor.backward([nd.array(numbers(*o.shape, seed=i)) for i, o in enumerate(executor.outputs)])
    found["foreach gradients"] = executor.grad_arrays
    outs, state = nd.contrib.foreach(lambda p, s: (p[0] + p[1] * s, s + 1), [nd.array(x), nd.array(x * 2)], nd.array(w))
    found["foreach of two"] = [outs, state]
    outs, state = nd.contrib.foreach(lambda p, s: ([], [s[0] + p]), nd.array(x), [nd.array(w)])
    found["foreach of nothing"] = [list(outs), state]

    def looped(F, i, total, limit, data):
        def proceed(i, total):
            return i < limit

        def step(i, total):
            return [total * 2, i], [i + 1, total + F.broadcast_mul(data, i.reshape((1, 1)))]

        return F.contrib.while_loop(proceed, step, [i, total], max_iterations=5)

    for limit in (3, 9):
        given = [nd.array([0]), nd.array(w), nd.array([limit]), nd.array(w * 2)]
        if limit:
            outs, states = looped(nd, *given)
            found[f"while {limit}"] = [[o[: min(limit, 5)] for o in outs], states]
        names = [sym.var(n) for n in "itld"]
        outs, states = looped(sym, *names)
        group = sym.Group([*outs, *states])
        executor = group.bind(mx.cpu(), dict(zip("itld", given)))
        got = executor.forward()
        found[f"while symbol {limit}"] = [
            [o[: min(limit, 5)] for o in got[:2]] if limit else 0,
            got[2:],
            [o.shape for o in got] if limit else 0,
        ]
    for functions, start in ((nd, nd.array([1])), (sym, sym.var("i"))):
        outs, last = functions.contrib.while_loop(lambda i: i < 20, lambda i: (i * 3, i + i), start, max_iterations=6)
        last = last[0] if isinstance(last, (list, tuple)) else last
        outs = outs[0] if isinstance(outs, (list, tuple)) else outs
        if functions is sym:
            outs, last = sym.Group([outs, last]).bind(mx.cpu(), {"i": nd.array([1])}).forward()
        found[f"while of one {functions is sym}"] = [outs[:5], last]
    for value in (-1.0, 2.0):
        p, a, b = nd.array([value]), nd.array(w), nd.array(w * 3)
        for v in (a, b):
            v.attach_grad()
        with mx.autograd.record():
            out = nd.contrib.cond(p > 0, lambda: [a * b, a], lambda: [a - b, b])
            loss = (out[0] * out[0]).sum() + out[1].sum()
        loss.backward()
        found[f"cond {value}"] = [out, a.grad, b.grad]
        p, q, r = (sym.var(n) for n in "pqr")
        chosen = sym.Group(list(sym.contrib.cond(p > 0, lambda: [q * r, q], lambda: [q - r, r * 2])))
        executor = chosen.bind(
            mx.cpu(),
            {"p": nd.array([value]), "q": a, "r": b},
            {n: nd.zeros(a.shape) for n in "qr"},
            grad_req={"p": "null", "q": "write", "r": "write"},
        )
        got = executor.forward(is_train=True)
        executor.backward([nd.array(numbers(*o.shape, seed=i)) for i, o in enumerate(got)])
        found[f"cond symbol {value}"] = [got, [executor.grad_dict[n] for n in "qr"], chosen.list_arguments()]
    found["refused"] = [
        attempt(lambda: nd.contrib.foreach(lambda p, s: (p, [s, s]), nd.array(x), nd.array(w)) and 0),
        attempt(lambda: sym.contrib.foreach(lambda p, s: (p, [s, s]), sym.var("a"), sym.var("b")) and 0),
        attempt(lambda: nd.contrib.while_loop(lambda i: i < 3, lambda i: (i, i + 1), nd.array([0])) and 0),
        attempt(lambda: nd.contrib.while_loop(lambda i: i < 3, lambda i: (i, [i, i]), nd.array([0]), 3) and 0),
        attempt(lambda: sym.contrib.while_loop(lambda i: i < 3, lambda i: (i, [i, i]), sym.var("i"), 3) and 0),
        attempt(
            lambda: sym.contrib.cond(sym.var("p"), lambda: [sym.var("a")], lambda: [sym.var("a"), sym.var("b")]) and 0
        ),
    ]
    return found


@ask
def update_functions(mx, folder):
    """AdamW and LAMB as functions of arrays and of lists, with numbers and arrays for the scale."""
    c, nd, found = mx.nd.contrib, mx.nd, {}

    def arrays(kind="float32", shape=(2, 3), seed=0):
        made = [nd.array(numbers(*shape, seed=seed + i), dtype=kind) for i in range(2)]
        return made + [nd.array(numbers(*shape, seed=seed + 2 + i, low=0.1, high=0.5)) for i in range(2)]

    for scale in (0.5, nd.array([0.5])):
        for more in ({}, {"wd": 0.1, "clip_gradient": 0.2, "beta1": 0.5, "beta2": 0.9, "epsilon": 0.1}):
            w, g, m, v = arrays()
            c.adamw_update(w, g, m, v, scale, out=w, lr=0.1, eta=0.7, **more)
            found[f"adamw {type(scale).__name__} {len(more)}"] = [w, m, v]
            w, g, m, v = arrays("float16")
            master = w.astype("float32")
            c.mp_adamw_update(w, g, m, v, master, scale, out=w, lr=0.1, eta=0.7, **more)
            found[f"mp adamw {type(scale).__name__} {len(more)}"] = [master, m, v]
            two = [arrays(seed=s, shape=h) for s, h in ((0, (2, 3)), (9, (4,)))]
            ws, gs, ms, vs = (list(part) for part in zip(*two))
            c.multi_adamw_update(ws, gs, ms, vs, scale, out=ws, size=2, lrs=[0.1, 0.2], wds=[0.1, 0.0], etas=[1.0, 0.5])
            found[f"multi adamw {type(scale).__name__}"] = [ws, ms, vs]
    not_finite = nd.array([np.inf])
    w, g, m, v = arrays()
    c.adamw_update(w, g, m, v, not_finite, out=w, lr=0.1, eta=0.7)
    found["skipped"] = [w, m, v]
    for more in (
        {},
        {"lower_bound": 1.2, "upper_bound": 2.0, "bias_correction": False, "rescale_grad": 0.5, "clip_gradient": 0.2},
    ):
        two = [arrays(seed=s, shape=h) for s, h in ((0, (2, 3)), (9, (4,)))]
        ws, gs, ms, vs = (list(part) for part in zip(*two))
        c.multi_lamb_update(
            ws, gs, ms, vs, out=ws, num_tensors=2, step_count=[1, 4], lrs=[0.1, 0.2], wds=[0.1, 0.0], **more
        )
        found[f"multi lamb {len(more)}"] = [ws, ms, vs]
    for classes, count in ((nd.array([0, 3, 9]), 4), (nd.array([1]), 7)):
        sampled, true, expected = c.rand_zipfian(classes, count, 10)
        found[f"zipfian {count}"] = [sampled.shape, bool((sampled.asnumpy() < 10).all()), true]
        found[f"zipfian agrees {count}"] = bool(
            np.allclose(
                expected.asnumpy(), np.log((sampled.asnumpy() + 2.0) / (sampled.asnumpy() + 1.0)) / np.log(11) * count
            )
        )
    a = nd.array([[1, np.nan, np.inf], [-np.inf, 0, 2]])
    found["tests"] = [c.isnan(a), c.isinf(a), c.isfinite(a)]
    return found
