"""``amp.lists``: which operators compute in which precision, as lists that programs read and change."""

from . import symbol_bf16, symbol_fp16

__all__ = ["symbol_bf16", "symbol_fp16"]
