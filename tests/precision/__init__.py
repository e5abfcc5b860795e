"""Files in another precision: float16, float32 out of it, 8-bit integers."""
