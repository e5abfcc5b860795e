"""``mx.contrib.svrg_optimization``: training with gradients of reduced variance (SVRG)."""

from . import svrg_module, svrg_optimizer

__all__ = ["svrg_module", "svrg_optimizer"]
