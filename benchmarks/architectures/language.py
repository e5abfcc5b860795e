"""Transformers of text and speech, and a recommender: what they compute, as torch's exporter writes it."""

from __future__ import annotations

import numpy as np

from .net import BOOL, LEAST, Net

# BERT-base: 12 layers


def bert(net: Net, layers: int) -> None:
    """BERT-base's encoder and pooler with open batch and length, LayerNorm decomposed."""
    width, heads = 768, 12
    ids = net.input("input_ids", "batch", "length", dtype=np.int64)
    mask = net.input("attention_mask", "batch", "length", dtype=np.int64)
    kinds = net.input("token_type_ids", "batch", "length", dtype=np.int64)
    with net.inside("embeddings"):
        positions = net.Slice(np.arange(512)[None], [0], net.Unsqueeze(net.size(ids, 1), [0]), [1], [1])
        x = net.Gather(net.weight(30522, width, scale=0.5), ids)
        x = net.Add(x, net.Gather(net.weight(2, width, scale=0.5), kinds))
        x = net.norm(net.Add(x, net.Gather(net.weight(512, width, scale=0.5), positions)), width, decomposed=True)
    shown = net.number(net.Unsqueeze(net.Unsqueeze(mask, [1]), [2]))
    hidden = net.Mul(net.Sub(1.0, shown), LEAST[net.dtype])
    for i in range(layers):
        with net.inside(f"layer.{i}"):
            query, key, value = (net.heads(net.linear(x, width, width), heads, width // heads) for _ in range(3))
            seen = net.unheads(net.attend(query, key, value, width // heads, hidden), width)
            x = net.norm(net.Add(net.linear(seen, width, width), x), width, decomposed=True)
            inner = net.gelu(net.linear(x, width, 4 * width))
            x = net.norm(net.Add(net.linear(inner, 4 * width, width), x), width, decomposed=True)
    net.output("last_hidden_state", x, 3)
    net.output("pooler_output", net.Tanh(net.gemm(net.Gather(x, np.array(0), axis=1), width, width)), 2)


def bert_inputs(random: np.random.Generator, batch: int, length: int) -> dict[str, np.ndarray]:
    """Words, the last of every other text padded."""
    mask = np.ones((batch, length), np.int64)
    mask[1::2, length * 3 // 4 :] = 0
    return {
        "input_ids": random.integers(0, 30522, (batch, length)),
        "attention_mask": mask,
        "token_type_ids": random.integers(0, 2, (batch, length)),
    }


# GPT-2 small, one token: 12 layers


def _conv1d(net: Net, x: str, takes: int, gives: int) -> str:
    """GPT-2's Conv1D: a Gemm between two Reshapes."""
    batch, length = net.size(x, 0), net.size(x, 1)
    weights, bias = net.weight(takes, gives, scale=takes**-0.5), net.weight(gives, scale=0.02)
    y = net.Gemm(net.reshape(x, -1, takes), weights, bias, alpha=1.0, beta=1.0)
    return net.reshape(y, batch, length, gives)


def gpt2(net: Net, layers: int) -> None:
    """GPT-2 small with the keys and values of former tokens as inputs, joined ones as outputs."""
    width, heads = 768, 12
    ids = net.input("input_ids", "batch", "length", dtype=np.int64)
    past = [
        [net.input(f"past.{i}.{kind}", "batch", heads, "past", width // heads) for kind in ("key", "value")]
        for i in range(layers)
    ]
    before, length = net.size(past[0][0], 2), net.size(ids, 1)
    whole = net.Add(before, length)
    positions = net.Unsqueeze(net.Range(before, whole, np.array(1)), [0])
    words = net.weight(50257, width, scale=0.3)
    x = net.Add(net.Gather(words, ids), net.Gather(net.weight(1024, width, scale=0.3), positions))
    present = []
    for i in range(layers):
        with net.inside(f"h.{i}"):
            joined = _conv1d(net, net.norm(x, width), width, 3 * width)
            query, key, value = net.Split(joined, [width] * 3, axis=2, outputs=3)
            query, key, value = (net.heads(v, heads, width // heads) for v in (query, key, value))
            key = net.Concat(past[i][0], key, axis=2)
            value = net.Concat(past[i][1], value, axis=2)
            present.append((key, value))
            scores = net.MatMul(query, net.Transpose(key, perm=[0, 1, 3, 2]))
            scores = net.Div(scores, float((width // heads) ** 0.5))
            keys, queries = net.size(key, 2), net.size(query, 2)
            start = net.Unsqueeze(net.Sub(keys, queries), [0])
            causal = np.tril(np.ones((1, 1, 1024, 1024), bool))
            rows = net.Slice(causal, start, net.Unsqueeze(keys, [0]), [2], [1])
            seen = net.Cast(net.Slice(rows, [0], net.Unsqueeze(keys, [0]), [3], [1]), to=BOOL)
            scores = net.Where(seen, scores, LEAST[net.dtype])
            x = net.Add(
                _conv1d(net, net.unheads(net.MatMul(net.Softmax(scores, axis=-1), value), width), width, width), x
            )
            inner = net.gelu_tanh(_conv1d(net, net.norm(x, width), width, 4 * width))
            x = net.Add(x, _conv1d(net, inner, 4 * width, width))
    net.output("logits", net.linear(net.norm(x, width), width, 50257, bias=False), 3)
    for i, (key, value) in enumerate(present):
        net.output(f"present.{i}.key", key, 4)
        net.output(f"present.{i}.value", value, 4)


def gpt2_inputs(random: np.random.Generator, layers: int, batch: int, past: int, dtype: np.dtype) -> dict:
    """One token after so many."""
    found = {"input_ids": random.integers(0, 50257, (batch, 1))}
    for i in range(layers):
        for kind in ("key", "value"):
            found[f"past.{i}.{kind}"] = random.standard_normal((batch, 12, past, 64)).astype(dtype)
    return found


# Whisper base: 6 and 6 layers, width 512


def _split(net: Net, x: str, heads: int, width: int) -> str:
    """(batch, length, heads * width) as (batch * heads, length, width)."""
    batch, length = net.size(x, 0), net.size(x, 1)
    split = net.Transpose(net.reshape(x, batch, -1, heads, width), perm=[0, 2, 1, 3])
    return net.reshape(split, net.Mul(batch, np.array(heads)), length, width)


def _product(net: Net, query: str, key: str, value: str, batch: str, heads: int, width: int) -> str:
    """Attention by bmm of three axes, as Whisper and BART have it."""
    length = net.size(query, 1)
    scores = net.Softmax(net.MatMul(query, net.Transpose(key, perm=[0, 2, 1])), axis=-1)
    seen = net.reshape(net.MatMul(scores, value), batch, heads, length, width)
    return net.reshape(net.Transpose(seen, perm=[0, 2, 1, 3]), batch, length, heads * width)


def whisper_encoder(net: Net, layers: int) -> None:
    """Whisper base's encoder on 30 seconds."""
    width, heads = 512, 8
    x = net.input("input_features", "batch", 80, "frames")
    x = net.gelu(net.conv(x, 80, width, 3, axes=1))
    x = net.Transpose(net.gelu(net.conv(x, width, width, 3, 2, axes=1)), perm=[0, 2, 1])
    places = net.weight(1500, width, scale=0.3)
    x = net.Add(x, net.Slice(places, [0], net.Unsqueeze(net.size(x, 1), [0]), [0], [1]))
    for i in range(layers):
        with net.inside(f"layers.{i}"):
            y, batch = net.norm(x, width), net.size(x, 0)
            query = net.Mul(net.linear(y, width, width), (width // heads) ** -0.5)
            key, value = net.linear(y, width, width, bias=False), net.linear(y, width, width)
            parts = [_split(net, v, heads, width // heads) for v in (query, key, value)]
            seen = _product(net, *parts, batch, heads, width // heads)
            x = net.Add(x, net.linear(seen, width, width))
            x = net.Add(x, net.linear(net.gelu(net.linear(net.norm(x, width), width, 4 * width)), 4 * width, width))
    net.output("last_hidden_state", net.norm(x, width), 3)


def whisper_decoder(net: Net, layers: int) -> None:
    """One step of Whisper base's decoder: its own cache grows, the encoder's keys and values are given."""
    width, heads = 512, 8
    one = width // heads
    ids = net.input("decoder_input_ids", "batch", 1, dtype=np.int64)
    given = [
        [
            net.input(f"past_key_values.{i}.{who}.{kind}", "batch", heads, steps, one)
            for who, steps in (("decoder", "past"), ("encoder", "frames"))
            for kind in ("key", "value")
        ]
        for i in range(layers)
    ]
    batch, past = net.size(ids, 0), net.size(given[0][0], 2)
    words = net.weight(51865, width, scale=0.3)
    place = net.Unsqueeze(past, [0])
    x = net.Gather(words, net.reshape(ids, -1, 1))
    x = net.Add(x, net.Slice(net.weight(448, width, scale=0.3), place, net.Add(place, [1]), [0], [1]))
    present = []
    for i in range(layers):
        with net.inside(f"layers.{i}"):
            for who in ("self", "cross"):
                y = net.norm(x, width)
                query = _split(net, net.Mul(net.linear(y, width, width), one**-0.5), heads, one)
                if who == "self":
                    key, value = (net.heads(net.linear(y, width, width, bias=b), heads, one) for b in (False, True))
                    key, value = (net.Concat(g, v, axis=2) for g, v in zip(given[i], (key, value), strict=False))
                    present.append((key, value))
                else:
                    key, value = given[i][2:]
                flat = [net.reshape(v, net.Mul(batch, np.array(heads)), -1, one) for v in (key, value)]
                x = net.Add(x, net.linear(_product(net, query, *flat, batch, heads, one), width, width))
            x = net.Add(x, net.linear(net.gelu(net.linear(net.norm(x, width), width, 4 * width)), 4 * width, width))
    net.output("logits", net.linear(net.norm(x, width), width, 51865, bias=False), 3)
    for i, (key, value) in enumerate(present):
        net.output(f"present.{i}.decoder.key", key, 4)
        net.output(f"present.{i}.decoder.value", value, 4)


def whisper_decoder_inputs(random: np.random.Generator, layers: int, batch: int, past: int, dtype: np.dtype) -> dict:
    """One token after so many, of a text that 30 seconds of sound are."""
    found = {"decoder_input_ids": random.integers(0, 51865, (batch, 1))}
    for i in range(layers):
        for who, steps in (("decoder", past), ("encoder", 1500)):
            for kind in ("key", "value"):
                array = random.standard_normal((batch, 8, steps, 64), np.float32).astype(dtype)
                found[f"past_key_values.{i}.{who}.{kind}"] = array
    return found


# Conformer M: 16 blocks, width 256


def conformer(net: Net, layers: int) -> None:
    """Convolutional subsampling by four and conformer blocks with relative positions; open batch and length."""
    width, heads = 256, 4
    one = width // heads
    x = net.Unsqueeze(net.input("features", "batch", "frames", 80), [1])
    for takes in (1, width):
        x = net.Relu(net.conv(x, takes, width, 3, 2, gain=1.4))
    x = net.Transpose(x, perm=[0, 2, 1, 3])
    x = net.linear(net.reshape(x, net.size(x, 0), net.size(x, 1), width * 20), width * 20, width)
    length = net.size(x, 1)
    # sinusoids of positions -(length - 1) .. length - 1, out of a table for 1000 both ways
    angle = np.arange(-999, 1000)[:, None] * np.exp(np.arange(0, width, 2) * -(np.log(10000.0) / width))
    table = np.stack([np.sin(angle), np.cos(angle)], -1).reshape(1, 1999, width).astype(net.dtype)
    first = net.Sub(np.array(1000), length)
    last = net.Add(np.array(999), length)
    places = net.Slice(table, net.Unsqueeze(first, [0]), net.Unsqueeze(last, [0]), [1], [1])

    def forward(x: str) -> str:
        y = net.linear(net.silu(net.linear(net.norm(x, width), width, 4 * width)), 4 * width, width)
        return net.Add(x, net.Mul(y, 0.5))

    for i in range(layers):
        with net.inside(f"blocks.{i}"):
            x = forward(x)
            y = net.norm(x, width)
            query, key, value = (net.reshape(net.linear(y, width, width), 0, -1, heads, one) for _ in range(3))
            where = net.heads(net.linear(places, width, width, bias=False), heads, one)
            content, moved = (
                net.Transpose(net.Add(query, net.weight(heads, one, scale=0.1)), perm=[0, 2, 1, 3]) for _ in range(2)
            )
            scores = net.MatMul(content, net.Transpose(key, perm=[0, 2, 3, 1]))
            shifted = net.MatMul(moved, net.Transpose(where, perm=[0, 1, 3, 2]))
            batch, rows, columns = net.size(shifted, 0), net.size(shifted, 2), net.size(shifted, 3)
            # Transformer-XL's relative shift: a column of zeros, read as rows of another length
            padded = net.Pad(shifted, [0, 0, 0, 1, 0, 0, 0, 0], 0.0, mode="constant")
            turned = net.reshape(padded, batch, heads, net.Add(columns, np.array(1)), rows)
            shifted = net.reshape(net.slice(turned, 1, np.iinfo(np.int64).max, 2), batch, heads, rows, columns)
            shifted = net.Slice(shifted, [0], net.Unsqueeze(net.size(scores, 3), [0]), [3], [1])
            scores = net.Softmax(net.Div(net.Add(scores, shifted), one**0.5), axis=-1)
            seen = net.unheads(net.MatMul(scores, net.Transpose(value, perm=[0, 2, 1, 3])), width)
            x = net.Add(x, net.linear(seen, width, width))
            y = net.Transpose(net.norm(x, width), perm=[0, 2, 1])
            value, gate = net.Split(net.conv(y, width, 2 * width, axes=1), [width, width], axis=1, outputs=2)
            y = net.conv(net.Mul(value, net.Sigmoid(gate)), width, width, 31, groups=width, axes=1)
            scale, shift, mean = (net.weight(width, scale=0.1, mean=m) for m in (1.0, 0.0, 0.0))
            y = net.BatchNormalization(y, scale, shift, mean, net.weight(width, scale=0.02, mean=1.0), epsilon=1e-5)
            x = net.Add(x, net.Transpose(net.conv(net.silu(y), width, width, axes=1), perm=[0, 2, 1]))
            x = net.norm(forward(x), width)
    net.output("encoded", x, 3)


# DLRM: 26 tables


def dlrm(net: Net, layers: int) -> None:
    """DLRM's two perceptrons, sums of three rows of each of 26 tables of 10,000, and dot products of all pairs."""
    width = 64
    dense = net.input("dense", "batch", 13)
    sparse = net.input("sparse", 26, "batch", 3, dtype=np.int64)
    x = dense
    for takes, gives in ((13, 512), (512, 256), (256, width)):
        x = net.Relu(net.gemm(x, takes, gives, 1.4))
    found = [x]
    for i in range(26):
        rows = net.Gather(net.weight(10000, width, scale=0.3), net.Gather(sparse, np.array(i), axis=0))
        found.append(net.ReduceSum(rows, [1], keepdims=0))
    joined = net.reshape(net.Concat(*found, axis=1), net.size(x, 0), -1, width)
    products = net.MatMul(joined, net.Transpose(joined, perm=[0, 2, 1]))
    one, two = np.tril_indices(27, -1)
    flat = net.reshape(products, net.size(x, 0), -1)
    pairs = net.Gather(flat, (one * 27 + two).astype(np.int64), axis=1)
    y = net.Concat(x, pairs, axis=1)
    for takes, gives in ((width + len(one), 512), (512, 256)):
        y = net.Relu(net.gemm(y, takes, gives, 1.4))
    net.output("click", net.Sigmoid(net.gemm(y, 256, 1)), 2)


def dlrm_inputs(random: np.random.Generator, batch: int, dtype: np.dtype) -> dict[str, np.ndarray]:
    """Of so many users."""
    return {
        "dense": random.standard_normal((batch, 13)).astype(dtype),
        "sparse": random.integers(0, 10000, (26, batch, 3)),
    }
