"""``mx.context``: where arrays live."""

# ruff: noqa: F401
from .execution.context import Context, cpu, cpu_pinned, current_context, gpu, gpu_memory_info, num_gpus, resolve
