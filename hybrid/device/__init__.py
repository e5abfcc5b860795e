"""Devices with memory of their own: what ``mx.gpu(i)`` is.

- array.py: arrays whose memory is a device's. They answer NumPy's functions, so that what operators compute is computed there.
- base.py: Device, the protocol: memory, copies, streams and events, NumPy's functions, kernels, graphs.
- cuda.py: GPUs, by CuPy (an extra). mock.py: devices without any hardware, which refuse what GPUs would, and count.
- registry.py: which there are.
- kernels.py: kernels of our own, CUDA C++ that NVRTC compiles at run time.

This room knows nothing of operators and graphs ([decision 0032](../../docs/decisions/0032-devices.md))."""
