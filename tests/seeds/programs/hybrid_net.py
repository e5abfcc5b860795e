# Seed 003: HybridSequential and HybridBlock. The page's HTML lost "x =" and the commas in (1, 512) and in (self, **kwargs).
# Added: the imports, and the network that the page calls without making it; it shows the line before hybridize only
# for HybridSequential.
# random
# %%
from mxnet import nd
from mxnet.gluon import nn
# %%
def get_net():
    net = nn.HybridSequential()
    net.add(
        nn.Dense(256, activation="relu"),
        nn.Dense(128, activation="relu"),
        nn.Dense(2)
    )
    net.initialize()
    return net

x = nd.random.normal(shape=(1, 512))
net = get_net()
net(x)
# %%
net.hybridize()
net(x)
#> [[ 0.08827581 0.00505182]]
#> <NDArray 1x2 @cpu(0)>
# %%
class HybridNet(nn.HybridBlock):
    def __init__(self, **kwargs):
        super(HybridNet, self).__init__(**kwargs)
        self.hidden = nn.Dense(10)
        self.output = nn.Dense(2)

    def hybrid_forward(self, F, x):
        print('F: ', F)
        print('x: ', x)
        x = F.relu(self.hidden(x))
        print('hidden: ', x)
        return self.output(x)
# %%
net = HybridNet()
net.initialize()
x = nd.random.normal(shape=(1, 4))
net(x)
# %%
net.hybridize()
net(x)
#> F:  <module 'mxnet.symbol' from '/var/lib/jenkins/miniconda3/envs/gluon_zh_docs/lib/python3.6/site-packages/mxnet/symbol/__init__.py'>
#> x:  <Symbol data>
#> hidden:  <Symbol hybridnet0_relu0>
#> [[ 0.00370749 0.00134991]]
#> <NDArray 1x2 @cpu(0)>
# %%
net(x)
#> [[ 0.00370749 0.00134991]]
#> <NDArray 1x2 @cpu(0)>
