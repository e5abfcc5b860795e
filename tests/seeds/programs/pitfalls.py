# Seeds 000 and 002: "Operators that do not work with hybridize". The pages show the bodies of hybrid_forward and name the
# errors; added: the class around them, and a call before and after hybridize.
# %%
import mxnet as mx
from mxnet import gluon


def show(forward, *shapes):
    Block = type('Block', (gluon.HybridBlock,), {'hybrid_forward': forward})
    for hybrid in (False, True):
        block = Block()
        if hybrid:
            block.hybridize()
        try:
            y = block(*[mx.nd.arange(6).reshape((2, 3)) + i for i in range(1)])
            print(y.asnumpy().tolist())
        except (AttributeError, NotImplementedError, mx.MXNetError) as error:
            print(type(error).__name__, str(error).split('\n')[0] if isinstance(error, AttributeError) else '')
# %%
def hybrid_forward(self, F, x):
    # avoid writing: return x + F.ones((1, 1))
    return F.broadcast_add(x, F.ones((1, 1)))
show(hybrid_forward)
# %%
def hybrid_forward(self, F, x):
    return x + F.ones((1, 1))
show(hybrid_forward)
# %%
def hybrid_forward(self, F, x):
    print(x.shape)
    return x
show(hybrid_forward)
#> AttributeError 'Symbol' object has no attribute 'shape'
# %%
def hybrid_forward(self, F, x):
    return x[0]
show(hybrid_forward)
# %%
def hybrid_forward(self, F, x):
    x.asnumpy()
    return x
show(hybrid_forward)
# %%
def hybrid_forward(self, F, x):
    return x + F.array([1, 2, 3])
show(hybrid_forward)
# %%
def hybrid_forward(self, F, x):
    return F.broadcast_add(F.broadcast_add(x, F.zeros((1, 1))), F.full((1, 1), 2))
show(hybrid_forward)
# %%
def hybrid_forward(self, F, x):
    x += x
    return x
show(hybrid_forward)
# %%
def hybrid_forward(self, F, x):
    x -= x
    return x
show(hybrid_forward)
# %%
def hybrid_forward(self, F, x):
    x *= x
    return x
show(hybrid_forward)
# %%
def hybrid_forward(self, F, x):
    x /= x + 1
    return x
show(hybrid_forward)
# %%
def hybrid_forward(self, F, x):
    x = x % 2
    return x
show(hybrid_forward)
