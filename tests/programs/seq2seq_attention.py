"""An encoder and a decoder with attention; recurrent cells of all kinds unrolled."""

import collections, math, numpy as np
from mxnet import autograd, gluon, init, nd
from mxnet.gluon import data as gdata, loss as gloss, nn, rnn

PAD, BOS, EOS = 0, 1, 2
V = 12
rs = np.random.RandomState(0)


class Det(init.Initializer):
    def _init_weight(self, name, arr):
        arr[:] = np.random.RandomState(arr.size % 1000).uniform(-0.2, 0.2, arr.shape)


class Encoder(nn.Block):
    def __init__(self, vocab_size, embed_size, num_hiddens, num_layers, drop_prob=0, **kwargs):
        super(Encoder, self).__init__(**kwargs)
        self.embedding = nn.Embedding(vocab_size, embed_size)
        self.rnn = rnn.GRU(num_hiddens, num_layers, dropout=drop_prob)

    def forward(self, inputs, state):
        return self.rnn(self.embedding(inputs).swapaxes(0, 1), state)

    def begin_state(self, *args, **kwargs):
        return self.rnn.begin_state(*args, **kwargs)


encoder = Encoder(vocab_size=10, embed_size=8, num_hiddens=16, num_layers=2)
encoder.initialize(Det())
output, state = encoder(nd.zeros((4, 7)), encoder.begin_state(batch_size=4))
print(output.shape, state[0].shape, output[0, 0, :3])


def attention_model(attention_size):
    model = nn.Sequential()
    model.add(
        nn.Dense(attention_size, activation="tanh", use_bias=False, flatten=False),
        nn.Dense(1, use_bias=False, flatten=False),
    )
    return model


def attention_forward(model, enc_states, dec_state):
    dec_states = nd.broadcast_axis(dec_state.expand_dims(0), axis=0, size=enc_states.shape[0])
    e = model(nd.concat(enc_states, dec_states, dim=2))
    alpha = nd.softmax(e, axis=0)
    return (alpha * enc_states).sum(axis=0)


m = attention_model(10)
m.initialize()
print(attention_forward(m, nd.zeros((10, 4, 8)), nd.zeros((4, 8))).shape)


class Decoder(nn.Block):
    def __init__(self, vocab_size, embed_size, num_hiddens, num_layers, attention_size, drop_prob=0, **kwargs):
        super(Decoder, self).__init__(**kwargs)
        self.embedding = nn.Embedding(vocab_size, embed_size)
        self.attention = attention_model(attention_size)
        self.rnn = rnn.GRU(num_hiddens, num_layers, dropout=drop_prob)
        self.out = nn.Dense(vocab_size, flatten=False)

    def forward(self, cur_input, state, enc_states):
        c = attention_forward(self.attention, enc_states, state[0][-1])
        input_and_c = nd.concat(self.embedding(cur_input), c, dim=1)
        output, state = self.rnn(input_and_c.expand_dims(0), state)
        return self.out(output).squeeze(axis=0), state

    def begin_state(self, enc_state):
        return enc_state


def batch_loss(encoder, decoder, X, Y, loss):
    b = X.shape[0]
    enc_state = encoder.begin_state(batch_size=b)
    enc_outputs, enc_state = encoder(X, enc_state)
    dec_state = decoder.begin_state(enc_state)
    dec_input = nd.array([BOS] * b)
    mask, num_not_pad = nd.ones(shape=(b,)), 0
    l = nd.array([0])
    for y in Y.T:
        dec_output, dec_state = decoder(dec_input, dec_state, enc_outputs)
        l = l + (mask * loss(dec_output, y)).sum()
        dec_input = y
        num_not_pad += mask.sum().asscalar()
        mask = mask * (y != EOS)
    return l / num_not_pad


enc = Encoder(V, 8, 16, 1)
dec = Decoder(V, 8, 16, 1, 10)
enc.initialize(Det(), force_reinit=True)
dec.initialize(Det(), force_reinit=True)
et = gluon.Trainer(enc.collect_params(), "adam", {"learning_rate": 0.02})
dt = gluon.Trainer(dec.collect_params(), "adam", {"learning_rate": 0.02})
loss = gloss.SoftmaxCrossEntropyLoss()
src = rs.randint(3, V, (20, 5))
X = np.concatenate([src, np.full((20, 1), EOS)], 1)
Y = np.concatenate([src[:, ::-1], np.full((20, 1), EOS)], 1)
ds = gdata.ArrayDataset(nd.array(X), nd.array(Y))
for epoch in range(4):
    s = 0.0
    for a, b in gdata.DataLoader(ds, 5):
        with autograd.record():
            l = batch_loss(enc, dec, a, b, loss)
        l.backward()
        et.step(1)
        dt.step(1)
        s += l.asscalar()
    print("epoch %d, loss %.4f" % (epoch + 1, s / 4))


def translate(seq, n):
    eo, es = enc(nd.array([seq]), enc.begin_state(batch_size=1))
    di, ds, out = nd.array([BOS]), dec.begin_state(es), []
    for _ in range(n):
        do, ds = dec(di, ds, eo)
        pred = do.argmax(axis=1)
        p = int(pred.asscalar())
        if p == EOS:
            break
        out.append(p)
        di = pred
    return out


print(translate(X[0].tolist(), 8))
print(enc)
print(dec)
# cells unroll
cell = rnn.LSTMCell(6)
cell.initialize(Det())
outs, st = cell.unroll(3, nd.ones((2, 3, 4)), layout="NTC", merge_outputs=True)
print(cell, outs, [s.shape for s in st])
st = rnn.SequentialRNNCell()
with st.name_scope():
    st.add(rnn.GRUCell(5))
    st.add(rnn.ResidualCell(rnn.GRUCell(5)))
    st.add(rnn.ZoneoutCell(rnn.RNNCell(5), 0.0, 0.0))
    st.add(rnn.DropoutCell(0.3))
st.initialize(Det())
o, s = st.unroll(4, [nd.ones((2, 5)) * i for i in range(4)])
print(st, type(o), len(o), o[-1], len(s))
print(list(st.collect_params()))
bi = rnn.BidirectionalCell(rnn.LSTMCell(3), rnn.LSTMCell(3))
bi.initialize(Det())
o, s = bi.unroll(3, nd.ones((2, 3, 4)), merge_outputs=False, valid_length=nd.array([2, 3]))
print([i.shape for i in o], o[0], o[2])
try:
    rnn.LSTM(4)(nd.ones((2, 3)))
except Exception as e:
    print("refused")
l = rnn.LSTM(4, layout="NTC", input_size=3)
l.initialize(Det())
print(l(nd.ones((2, 5, 3))).shape, l, l.state_info(2))
try:
    l(nd.ones((2, 5, 3)), [nd.zeros((1, 3, 4)), nd.zeros((1, 3, 4))])
except Exception as e:
    print("refused")
bf = nd.arange(6).reshape((1, 2, 3))
print(
    nd.batch_dot(bf, bf, transpose_b=True),
    nd.SequenceMask(nd.ones((3, 2)), nd.array([1, 2]), True),
    nd.SequenceLast(nd.arange(6).reshape((3, 2)), nd.array([1, 3]), use_sequence_length=True),
    nd.SequenceReverse(nd.arange(6).reshape((3, 2))),
)
