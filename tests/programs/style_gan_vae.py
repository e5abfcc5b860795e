"""Style transfer on an image that is a parameter; a GAN with two trainers; a variational autoencoder."""

from mxnet import autograd, gluon, init, nd
from mxnet.gluon import nn, loss as gloss
import mxnet as mx, numpy as np

rs = np.random.RandomState(0)


class Det(init.Initializer):
    def __init__(self, s=0.1):
        super().__init__(s=s)
        self.s = s
        self.n = 0

    def _init_weight(self, name, arr):
        self.n += 1
        arr[:] = np.random.RandomState(self.n).normal(0, self.s, arr.shape)


# style transfer
mean, std = nd.array([0.485, 0.456, 0.406]), nd.array([0.229, 0.224, 0.225])


def preprocess(img):
    return ((img.astype("float32") / 255 - mean) / std).transpose((2, 0, 1)).expand_dims(axis=0)


def postprocess(img):
    img = img[0].as_in_context(std.context)
    return (img.transpose((1, 2, 0)) * std + mean).clip(0, 1)


net = nn.Sequential()
net.add(
    nn.Conv2D(6, 3, padding=1, activation="relu"),
    nn.MaxPool2D(2),
    nn.Conv2D(8, 3, padding=1, activation="relu"),
    nn.Conv2D(8, 3, padding=1),
)
net.initialize(Det())
c_img = nd.array(rs.randint(0, 255, (16, 16, 3)), dtype="uint8")
s_img = nd.array(rs.randint(0, 255, (16, 16, 3)), dtype="uint8")


def extract(X):
    c, s = [], []
    for i in range(len(net)):
        X = net[i](X)
        if i in (0, 2):
            s.append(X)
        if i == 3:
            c.append(X)
    return c, s


def gram(X):
    n, m = X.shape[1], X.size // X.shape[1]
    X = X.reshape((n, m))
    return nd.dot(X, X.T) / (n * m)


def tv_loss(Y):
    return 0.5 * ((Y[:, :, 1:, :] - Y[:, :, :-1, :]).abs().mean() + (Y[:, :, :, 1:] - Y[:, :, :, :-1]).abs().mean())


class GeneratedImage(nn.Block):
    def __init__(self, img_shape, **kwargs):
        super().__init__(**kwargs)
        self.weight = self.params.get("weight", shape=img_shape)

    def forward(self):
        return self.weight.data()


cX, sX = preprocess(c_img), preprocess(s_img)
cY, _ = extract(cX)
_, sY = extract(sX)
sg = [gram(y) for y in sY]
g = GeneratedImage(cX.shape)
g.initialize(init.Constant(cX), force_reinit=True) if False else g.initialize()
g.weight.set_data(cX)
tr = gluon.Trainer(g.collect_params(), "adam", {"learning_rate": 0.1})
for i in range(4):
    with autograd.record():
        X = g()
        cy, sy = extract(X)
        l = (
            nd.add_n(*[(a - b).square().mean() for a, b in zip(cy, cY)])
            + nd.add_n(*[1e3 * (gram(a) - b).square().mean() for a, b in zip(sy, sg)])
            + 10 * tv_loss(X)
        )
    l.backward()
    tr.step(1)
    print("%.5f" % l.asscalar())
    if i == 2:
        tr.set_learning_rate(tr.learning_rate * 0.1)
        print(tr.learning_rate)
print(postprocess(X)[0, :3])
# DCGAN-ish with two trainers
G = nn.HybridSequential(prefix="G_")
with G.name_scope():
    G.add(
        nn.Dense(32),
        nn.HybridLambda(lambda F, x: F.reshape(x, (0, 2, 4, 4))),
        nn.Conv2DTranspose(4, 4, 2, 1, use_bias=False),
        nn.BatchNorm(),
        nn.Activation("relu"),
        nn.Conv2DTranspose(1, 4, 2, 1),
        nn.Activation("tanh"),
    )
D = nn.HybridSequential(prefix="D_")
with D.name_scope():
    D.add(
        nn.Conv2D(4, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2D(8, 4, 2, 1), nn.BatchNorm(), nn.LeakyReLU(0.2), nn.Dense(1)
    )
G.initialize(Det(0.2))
D.initialize(Det(0.2))
G.hybridize()
D.hybridize()
loss = gloss.SigmoidBinaryCrossEntropyLoss()
gt = gluon.Trainer(G.collect_params(), "adam", {"learning_rate": 0.005, "beta1": 0.5})
dt = gluon.Trainer(D.collect_params(), "adam", {"learning_rate": 0.005, "beta1": 0.5})
metric = mx.metric.CustomMetric(lambda label, pred: ((pred > 0.5) == label).mean())
real, fake = nd.ones((8,)), nd.zeros((8,))
for it in range(4):
    data = nd.array(np.tanh(rs.normal(size=(8, 1, 16, 16))))
    z = nd.array(rs.normal(size=(8, 5)))
    with autograd.record():
        out = D(data)
        e1 = loss(out, real)
        f = G(z)
        o2 = D(f.detach())
        e2 = loss(o2, fake)
        errD = e1 + e2
        errD.backward()
    metric.update([real], [out.sigmoid().reshape((-1,))])
    metric.update([fake], [o2.sigmoid().reshape((-1,))])
    dt.step(8)
    with autograd.record():
        f = G(z)
        errG = loss(D(f), real)
        errG.backward()
    gt.step(8)
    print("%.5f %.5f" % (errD.mean().asscalar(), errG.mean().asscalar()), metric.get())
print(G)
print(G(z).shape)


class VAE(gluon.HybridBlock):
    def __init__(self, n_hidden=16, n_latent=2, n_output=20, batch_size=8, **kwargs):
        self.soft_zero = 1e-10
        self.n_latent = n_latent
        self.batch_size = batch_size
        self.output = None
        self.mu = None
        super(VAE, self).__init__(**kwargs)
        with self.name_scope():
            self.encoder = nn.HybridSequential(prefix="encoder")
            self.encoder.add(nn.Dense(n_hidden, activation="tanh"))
            self.encoder.add(nn.Dense(n_latent * 2, activation=None))
            self.decoder = nn.HybridSequential(prefix="decoder")
            self.decoder.add(nn.Dense(n_hidden, activation="tanh"))
            self.decoder.add(nn.Dense(n_output, activation="sigmoid"))

    def hybrid_forward(self, F, x):
        h = self.encoder(x)
        mu_lv = F.split(h, axis=1, num_outputs=2)
        mu, lv = mu_lv[0], mu_lv[1]
        self.mu = mu
        eps = F.random_normal(loc=0, scale=1, shape=(self.batch_size, self.n_latent))
        z = mu + F.exp(0.5 * lv) * eps * 0
        y = self.decoder(z)
        self.output = y
        KL = 0.5 * F.sum(1 + lv - mu * mu - F.exp(lv), axis=1)
        logloss = F.sum(x * F.log(y + self.soft_zero) + (1 - x) * F.log(1 - y + self.soft_zero), axis=1)
        return -logloss - KL


X = nd.array(rs.rand(8, 20))
for hyb in (False, True):
    net = VAE()
    net.initialize(Det(0.3))
    net.hybridize() if hyb else None
    tr = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    for e in range(4):
        with autograd.record():
            l = net(X)
        l.backward()
        tr.step(8)
        print("%.5f" % nd.mean(l).asscalar())
print(net)
print(list(net.collect_params()))
