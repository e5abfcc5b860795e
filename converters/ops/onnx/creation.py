"""Arrays made from numbers that may arrive at run time."""

from ...registry import itself

itself("Range", since=11)
itself("EyeLike", since=9)
itself("OneHot", since=11)
itself("ConstantOfShape", since=9, read=False)
