"""Attention and rotary embeddings."""

from ...registry import itself

itself("Attention", "RotaryEmbedding", since=23)
itself("LinearAttention", since=27)
