"""Files in another precision: float16 and 8-bit integers out of float32, float32 out of float16; and how exact they are.

``wishes.py`` what is asked for, ``survey.py`` which numbers a network's tensors hold, ``staying.py`` what has to stay in float32,
``scales.py`` ranges for 8-bit integers, ``choosing.py`` what becomes such integers, ``accuracy.py`` how far the result is from what
it was made of, ``examples.py`` data and labels that users give, ``job.py`` the whole, ``places.py`` runs it where it is deployed;
``beside.py`` is verify of 8-bit integers, ``widening.py`` import of half precision. converters/precision rewrites the graphs."""
