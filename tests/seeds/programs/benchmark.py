# Seed 001: Gluon, hybridized. Added: x, which the page does not define; 10 calls for its 1000.
# random
# %%
from mxnet import nd, sym
from mxnet.gluon import nn
import time

def get_net():
    net = nn.HybridSequential()  # 这里创建HybridSequential实例
    net.add(nn.Dense(256, activation='relu'),
            nn.Dense(128, activation='relu'),
            nn.Dense(2))
    net.initialize()
    return net

def benchmark(net, x):
    start = time.time()
    for i in range(10):
        _ = net(x)
    nd.waitall()  # 等待所有计算完成方便计时
    return time.time() - start

x = nd.random.normal(shape=(1, 512))
net = get_net()
print('before hybridizing: %.4f sec' % (benchmark(net, x)))
net.hybridize()
print('after hybridizing: %.4f sec' % (benchmark(net, x)))
#> before hybridizing: 0.4831 sec
#> after hybridizing: 0.2670 sec
# %%
net.export('my_mlp')
# %%
# the page's network was its second, so that it shows dense5_fwd
x = sym.var('data')
net(x)
#> <Symbol dense2_fwd>
