"""A transformer encoder hybridized and exported; an LSTM language model with detached states, tied and untied."""

import math, mxnet as mx, numpy as np
from mxnet import autograd, gluon, init, nd
from mxnet.gluon import nn, rnn, Block


class Det(init.Initializer):
    n = 0

    def _init_weight(self, name, arr):
        Det.n += 1
        arr[:] = np.random.RandomState(Det.n).normal(0, 0.1, arr.shape)


class MultiHeadAttention(gluon.HybridBlock):
    def __init__(self, units, num_heads, **kwargs):
        super().__init__(**kwargs)
        self._h = num_heads
        with self.name_scope():
            self.q = nn.Dense(units, flatten=False, use_bias=False)
            self.k = nn.Dense(units, flatten=False, use_bias=False)
            self.v = nn.Dense(units, flatten=False, use_bias=False)
            self.o = nn.Dense(units, flatten=False)

    def _split(self, F, x):
        x = F.reshape(x, shape=(0, 0, self._h, -1))
        x = F.transpose(x, axes=(0, 2, 1, 3))
        return F.reshape(x, shape=(-1, 0, 0), reverse=True)

    def hybrid_forward(self, F, q, k, v, mask=None):
        q, k, v = self._split(F, self.q(q)), self._split(F, self.k(k)), self._split(F, self.v(v))
        s = F.batch_dot(F.contrib.div_sqrt_dim(q), k, transpose_b=True)
        if mask is not None:
            m = F.broadcast_axis(F.expand_dims(mask, axis=1), axis=1, size=self._h).reshape(
                shape=(-1, 0, 0), reverse=True
            )
            s = F.where(m, s, -1e18 * F.ones_like(s))
        a = F.softmax(s, axis=-1)
        c = F.batch_dot(a, v)
        c = F.reshape(c, shape=(-1, self._h, 0, 0), reverse=True).transpose((0, 2, 1, 3)).reshape((0, 0, -1))
        return self.o(c)


class PositionwiseFFN(gluon.HybridBlock):
    def __init__(self, units, hidden, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.f1 = nn.Dense(hidden, activation="relu", flatten=False, prefix="ffn_1_")
            self.f2 = nn.Dense(units, flatten=False, prefix="ffn_2_")
            self.dropout = nn.Dropout(0.0)
            self.ln = nn.LayerNorm(in_channels=units)

    def hybrid_forward(self, F, x):
        return self.ln(self.dropout(self.f2(self.f1(x))) + x)


class Encoder(gluon.HybridBlock):
    def __init__(self, V, units, heads, layers, max_len=50, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.embed = nn.Embedding(V, units)
            self.pos = self.params.get_constant("pos", self._enc(max_len, units))
            self.att = nn.HybridSequential()
            self.ffn = nn.HybridSequential()
            self.lns = nn.HybridSequential()
            for _ in range(layers):
                self.att.add(MultiHeadAttention(units, heads))
                self.ffn.add(PositionwiseFFN(units, units * 2))
                self.lns.add(nn.LayerNorm())
            self.out = nn.Dense(V, flatten=False, params=None)

    def _enc(self, L, U):
        p = np.arange(L).reshape(-1, 1) / np.power(10000, (2.0 / U) * np.arange(U).reshape(1, -1))
        p[:, 0::2] = np.sin(p[:, 0::2])
        p[:, 1::2] = np.cos(p[:, 1::2])
        return p

    def hybrid_forward(self, F, x, mask, pos):
        steps = F.contrib.arange_like(x, axis=1)
        h = (
            self.embed(x) * math.sqrt(16)
            + F.expand_dims(F.Embedding(steps, pos, 50, 16), axis=0).broadcast_like(self.embed(x))
            if False
            else F.broadcast_add(self.embed(x) * 4.0, F.expand_dims(F.take(pos, steps), axis=0))
        )
        for a, f, l in zip(self.att, self.ffn, self.lns):
            h = f(l(a(h, h, h, mask) + h))
        return self.out(h)


rs = np.random.RandomState(0)
X = nd.array(rs.randint(0, 10, (4, 7)))
Y = nd.array(np.roll(X.asnumpy(), -1, 1))
vl = nd.array([7, 5, 3, 6])
mask = nd.broadcast_lesser(nd.arange(7).reshape((1, 1, 7)), vl.reshape((-1, 1, 1))) * nd.ones((4, 7, 7))
print(mask[2, 0])
L = gluon.loss.SoftmaxCELoss()
wmask = nd.SequenceMask(nd.ones((7, 4)), vl, True).T
for hyb in (False, True):
    Det.n = 0
    net = Encoder(10, 16, 4, 2, prefix="enc_")
    net.initialize(Det())
    net.hybridize(static_alloc=True) if hyb else None
    tr = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01, "clip_gradient": 1.0})
    for e in range(4):
        with autograd.record():
            l = L(net(X, mask), Y, wmask.expand_dims(2))
        l.backward()
        tr.step(4)
        print("%.5f" % l.mean().asscalar())
print(net)
print(list(net.collect_params()))
net.export("enc")
n2 = gluon.SymbolBlock.imports("enc-symbol.json", ["data0", "data1"], "enc-0000.params")
print(abs(n2(X, mask) - net(X, mask)).max())


# GluonNLP-like language model
class RNNLM(Block):
    def __init__(self, mode, V, E, H, nl, dropout=0.0, tie=False, **kwargs):
        super(RNNLM, self).__init__(**kwargs)
        with self.name_scope():
            self.drop = nn.Dropout(dropout)
            self.encoder = nn.Embedding(V, E, weight_initializer=mx.init.Uniform(0.1))
            self.rnn = rnn.LSTM(H, nl, dropout=dropout, input_size=E)
            self.decoder = nn.Dense(V, in_units=H, params=self.encoder.params) if tie else nn.Dense(V, in_units=H)
            self.H = H

    def forward(self, inputs, hidden):
        emb = self.drop(self.encoder(inputs))
        output, hidden = self.rnn(emb, hidden)
        return self.decoder(self.drop(output).reshape((-1, self.H))), hidden

    def begin_state(self, *a, **k):
        return self.rnn.begin_state(*a, **k)


def detach(h):
    return [detach(i) for i in h] if isinstance(h, (tuple, list)) else h.detach()


data = nd.array(rs.randint(0, 20, (40, 4)))
for tie in (False, True):
    m = RNNLM("lstm", 20, 12, 12, 2, tie=tie)
    m.initialize(mx.init.Xavier(), ctx=[mx.cpu(0)])
    for p in m.collect_params().values():
        p.set_data(nd.array(rs.uniform(-0.2, 0.2, p.shape)))
    tr = gluon.Trainer(m.collect_params(), "sgd", {"learning_rate": 1.0, "momentum": 0, "wd": 0})
    Lc = gluon.loss.SoftmaxCrossEntropyLoss()
    tot = 0.0
    h = m.begin_state(func=mx.nd.zeros, batch_size=4, ctx=mx.cpu())
    for i in range(0, 35, 7):
        x, y = data[i : i + 7], data[i + 1 : i + 8]
        h = detach(h)
        with autograd.record():
            o, h = m(x, h)
            l = Lc(o, y.reshape((-1,)))
        l.backward()
        grads = [p.grad(mx.cpu()) for p in m.collect_params().values()]
        gn = gluon.utils.clip_global_norm(grads, 0.2 * 7 * 4)
        tr.step(28)
        tot += l.mean().asscalar()
        print("%.5f %.5f" % (gn, l.mean().asscalar()))
    print(tie, math.exp(tot / 5), [tuple(p.shape) for p in m.collect_params().values()])
    print(m)
