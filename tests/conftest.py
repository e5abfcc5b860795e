"""Settings of the whole suite."""

from hypothesis import settings

# The same examples on every run: a red build is red for everybody. Look further by hand with
# `pytest --hypothesis-profile=default`, which draws new ones every time and prints the seed.
settings.register_profile("steady", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("steady")
