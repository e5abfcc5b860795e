"""TEMPORARY: stands in for hybrid.initializer."""
import numpy as np
class InitDesc(str):
    def __new__(cls, name, attrs=None, global_init=None):
        s = str.__new__(cls, name); s.attrs = attrs or {}; s.global_init = global_init; return s
class Uniform:
    def __init__(self, scale=0.07): self.scale = scale
    def dumps(self): return '["uniform", {"scale": %s}]' % self.scale
    def __call__(self, desc, arr):
        init = desc.attrs.get("__init__") or self
        if init is not self and not isinstance(init, str): return init(InitDesc(str(desc)), arr)
        if init == "ones" or str(desc).endswith(("gamma", "running_var", "moving_var")): arr[:] = 1
        elif init == "zeros" or str(desc).endswith(("bias", "beta", "running_mean", "moving_mean")): arr[:] = 0
        else: arr[:] = np.random.uniform(-self.scale, self.scale, arr.shape)
def create(x, **k): return x if not isinstance(x, str) else Uniform()
