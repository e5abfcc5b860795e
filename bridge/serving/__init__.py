"""Models laid out for what serves them: Triton, SageMaker, multi-model-server, and programs of one's own."""
