# Seed 003: lazy evaluation. Added: the import.
# %%
from mxnet import nd
# %%
a = nd.ones((1, 2))
b = nd.ones((1, 2))
c = a * b + 2
c
#> [[3. 3.]]
#> <NDArray 1x2 @cpu(0)>
# %%
# the page names what waits for the result
print(c)
c.wait_to_read()
nd.waitall()
c.asnumpy()
