"""Many models: commands of gluonnx over a list of models, in processes that may be killed, here or on a cluster.

children.py is the way to a process in which commands run; child.py is the program of that process; lists.py reads what is to be
done; work.py does it, one after the other or on Dask, notes what is done, and goes on from there. docs/many-models.md is for users.
"""
