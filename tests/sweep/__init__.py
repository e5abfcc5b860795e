"""Every operator in combinations of its attributes, against real MXNet's recorded numbers and onnxruntime.

``spaces`` declares what values attributes and inputs take, ``space`` makes combinations of them, fixtures/make/sweep.py records
what MXNet answers, ``verdicts`` judges. ``python -m tests.sweep [OPERATOR ...] [--json]`` prints the figures.
"""
