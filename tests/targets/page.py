"""docs/targets.md."""
def page(a,b): return ''
