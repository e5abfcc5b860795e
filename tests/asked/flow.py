"""Loops and choices whose bodies give nothing, groups, or other numbers of things; the oldest autograd; words and their numbers."""

# ruff: noqa: B023, E501  calls are made at once
from __future__ import annotations

import collections

from .questions import ask, attempt, numbers, plain


def evaluated(mx, outputs, **given):
    """Names of arguments and outputs of symbols, and their numbers."""
    group = mx.sym.Group(outputs)
    return [group.list_arguments(), len(group.list_outputs()), plain(group.bind(mx.cpu(), given).forward())]


@ask
def bodies_that_give_little(mx, folder):
    nd, sym, found = mx.nd, mx.sym, {}
    x, w = nd.array(numbers(4, 2, 3)), nd.array(numbers(2, 3, seed=5))
    forever = lambda i, t: nd.ones((1,))  # noqa: E731
    for name, call in {
        "nothing at all": lambda: nd.contrib.while_loop(forever, lambda i, t: (None, [i + 1, t * 2]), [nd.array([0]), w], 3),
        "empty": lambda: nd.contrib.while_loop(forever, lambda i, t: ([], [i + 1, t * 2]), [nd.array([0]), w], 3),
        "no variables back": lambda: nd.contrib.while_loop(forever, lambda i, t: (i, None), [nd.array([0]), w], 3),
        "tuple back": lambda: nd.contrib.while_loop(forever, lambda i, t: (t, (i + 1, t * 2)), [nd.array([0]), w], 3),
        "tuple of variables": lambda: nd.contrib.while_loop(forever, lambda i, t: (t, (i + 1, t * 2)), (nd.array([0]), w), 3),
        "as an array": lambda: nd.contrib.while_loop(forever, lambda i, t: (t, (i + 1, t * 2)), (nd.array([0]), w), nd.array([2])),
        "not a number": lambda: nd.contrib.while_loop(forever, lambda i, t: (t, [i, t]), [nd.array([0]), w], "many"),
        "words": lambda: nd.contrib.while_loop(lambda i: object(), lambda i: (i, i), nd.array([0]), [2]),
        "no variables": lambda: nd.contrib.while_loop(forever, lambda: (w, []), [], 3),
        "no end": lambda: nd.contrib.while_loop(forever, lambda i, t: (t, [i, t]), [nd.array([0]), w]),
        "fewer outputs": lambda: nd.contrib.while_loop(
            lambda i: i < 3, lambda i: ([i] if i.asscalar() > 1 else [i, i], [i + 1]), [nd.array([0])], 5
        ),
        "tuples": lambda: nd.contrib.foreach(lambda p, s: ((p * s[0], (p,)), (s[0] + 1, s[1])), x, (w, w * 2)),
        "nested": lambda: nd.contrib.foreach(lambda p, s: ([[p], [p * 2, s]], s + p), x, w),
        "numbers": lambda: nd.contrib.foreach(lambda p, s: (p, 3), x, w),
        "chosen by a number": lambda: [nd.contrib.cond(v, lambda: w, lambda: w * 2) for v in (0, 1, nd.array([0]))],
        "chosen by words": lambda: nd.contrib.cond(object, lambda: w, lambda: w * 2),
        "chosen by two": lambda: nd.contrib.cond(nd.ones((2,)), lambda: w, lambda: w * 2),
    }.items():  # fmt: skip
        found[name] = attempt(lambda: [plain(part) for part in call()])
    a, b, i, p = (sym.var(n) for n in "abip")
    one = lambda i: i < 3  # noqa: E731
    for name, call in {
        "nothing at all": lambda: evaluated(mx, sym.contrib.while_loop(one, lambda i: (None, [i + 1]), [i], 4)[1], i=nd.array([0])),
        "empty": lambda: evaluated(mx, sym.contrib.while_loop(one, lambda i: ([], i + 1), [i], 4)[1], i=nd.array([0])),
        "no variables back": lambda: sym.contrib.while_loop(one, lambda i: (i, None), [i], 4),
        "no variables": lambda: sym.contrib.while_loop(lambda: a, lambda: (a, []), [], 4),
        "not a number": lambda: sym.contrib.while_loop(one, lambda i: (i, i), [i], "many"),
        "no end": lambda: sym.contrib.while_loop(one, lambda i: (i, i), [i]),
        "a number for an answer": lambda: sym.contrib.while_loop(lambda i: 3, lambda i: (i, i), [i], 4),
        "not used": lambda: sym.contrib.while_loop(lambda i, j: i < 3, lambda i, j: (i, [i + 1, i]), [i, b], 4),
        "variables in another order": lambda: evaluated(
            mx, [*(sym.contrib.while_loop(lambda i, j: j < 9, lambda i, j: ([i, j], [j + 1, i + j]), [i, b], 4))[1]], i=nd.array([1]), b=nd.array([2])
        ),
        "one thing in both places": lambda: evaluated(
            mx, sym.contrib.while_loop(lambda i, j: i < 3, lambda i, j: ([j], [i + 1, j * 2]), [i, i], 4)[1], i=nd.array([1])
        ),
        "free in both bodies": lambda: evaluated(
            mx, sym.contrib.while_loop(lambda i: i < a, lambda i: ([i * a], [i + b]), [i], 4)[1], i=nd.array([0]), a=nd.array([3]), b=nd.array([2])
        ),
        "free and a variable": lambda: evaluated(
            mx, sym.contrib.while_loop(lambda j: j < i, lambda j: ([j + i], [j + a]), [a], 4)[1], i=nd.array([5]), a=nd.array([3])
        ),
        "groups of states": lambda: sym.contrib.foreach(lambda p, s: (p, [s, s]), a, b),
        "not used data": lambda: sym.contrib.foreach(lambda p, s: (s, s + 1), a, b),
        "not used state": lambda: sym.contrib.foreach(lambda p, s: (p, p + 1), a, b),
        "the same twice": lambda: evaluated(mx, flat(sym.contrib.foreach(lambda p, s: ([p, p, s], s), a, b)), a=x, b=w),
        "made outside": lambda: evaluated(mx, flat(sym.contrib.foreach(lambda p, s, o=a * 2: (sym.broadcast_add(p, sym.sum(o)), s + p), a, b)), a=x, b=w),
        "chosen nested": lambda: [
            evaluated(mx, flat(sym.contrib.cond(p > 0, lambda: [[a], [b, a]], lambda: [[b], [a, b * 2]])), p=nd.array([v]), a=w, b=w * 3) for v in (0, 1)
        ],
        "two of one name": lambda: evaluated(
            mx, flat(sym.contrib.foreach(lambda p, s: (p + sym.var("c") + sym.var("c"), s), a, b)), a=x, b=w, c=w
        ),
    }.items():  # fmt: skip
        with mx.name.NameManager():
            found[f"symbol {name}"] = attempt(
                lambda: None if callable(got := call()) else got if isinstance(got, list) else "made"
            )
    return found


def flat(nested):
    return [item for part in nested for item in flat(part)] if isinstance(nested, (list, tuple)) else [nested]


@ask
def the_oldest_autograd(mx, folder):
    ag, nd, found = mx.contrib.autograd, mx.nd, {}
    x, y = nd.array(numbers(2, 3)), nd.array(numbers(2, 3, seed=4))

    def both(a, b):
        return a * a * b

    for number in (None, 0, 1, [1], [1, 0]):
        found[f"of {number}"] = [ag.grad_and_loss(both, number)(x, y), ag.grad(both, number)(x, y)]
    found["several"] = ag.grad_and_loss(lambda a: [a * 2, a * a])(x)
    found["numbers"] = [
        attempt(lambda: ag.grad(both)(x, 3.0)),
        attempt(lambda: ag.grad(both, 0)(x, 3.0)),
        attempt(lambda: ag.backward(x)),
        attempt(lambda: ag.compute_gradient(x)),
    ]
    found["names"] = [ag.grad(both).__name__, ag.grad_and_loss(both).__name__]
    grads = [nd.zeros(x.shape)]
    ag.mark_variables([x], grads)
    with ag.train_section():
        out = x * x * y
        found["inside"] = [mx.autograd.is_recording(), mx.autograd.is_training()]
        with ag.test_section():
            found["within"] = [mx.autograd.is_recording(), mx.autograd.is_training()]
        found["again inside"] = [mx.autograd.is_recording(), mx.autograd.is_training()]
    found["outside"] = [mx.autograd.is_recording(), mx.autograd.is_training()]
    ag.backward([out], [nd.array(numbers(2, 3, seed=8))], retain_graph=True)
    found["weighted"] = grads[0].copy()
    ag.backward((out,))
    found["once more"] = grads[0].copy()
    found["freed"] = attempt(lambda: ag.backward([out]))
    return found


@ask
def words_and_numbers(mx, folder):
    text = mx.contrib.text
    counter = collections.Counter(["a", *["b"] * 2, *["c"] * 3, *["d"] * 4, "e"])
    found = {}
    for given in (
        {},
        {"most_freq_count": 2},
        {"min_freq": 2},
        {"most_freq_count": 1, "min_freq": 3, "unknown_token": "?", "reserved_tokens": ["x", "y"]},
        {"reserved_tokens": ["<pad>"]},
        {"min_freq": 0},
        {"reserved_tokens": ["x", "x"]},
        {"reserved_tokens": ["<unk>"]},
        {"most_freq_count": 0},
    ):
        made = attempt(lambda: text.vocab.Vocabulary(counter, **given).__class__.__name__)
        if isinstance(made, dict):
            found[str(given)] = made
            continue
        vocabulary = text.vocab.Vocabulary(counter, **given)
        size = len(vocabulary)
        found[str(given)] = [
            size,
            vocabulary.idx_to_token,
            vocabulary.to_indices(["c", "nowhere", "d"]),
            [vocabulary.to_indices(w) for w in ("c", "nowhere", "d")],
            vocabulary.to_tokens(list(range(size))),
            [vocabulary.to_tokens(i) for i in range(size)],
            [attempt(lambda: vocabulary.to_tokens(i)) for i in (size, size + 1, [0, size], 1.0)],
        ]
    return found
