"""The functions of mx.np, mx.npx and their symbolic twins, each written once for arrays and symbols (side.py says how)."""
