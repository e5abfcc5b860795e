"""Forms of ONNX's operators before opset 13, made of what translations ask for, which is the newest form.

    @before(10, "Slice")
    def slice_by_attributes(b, op_type, x, starts, ends, axes=None, steps=None):
        ...
        return b.plain("Slice", x, starts=..., ends=..., axes=...)

``b.Slice(x, starts, ends)`` comes here where the builder's opset lies before 10; of several forms of an operator the one of the
least opset above the builder's is taken. ``b.plain`` writes a node as it is told. A constant operand becomes an
attribute; what is computed where the older form has attributes, and what no older operators amount to, raises Unsupported with the
opset that has it. Numbers are those of the newest form, NaN and infinities too, or it is not written.

Attributes, inputs and dtypes that a schema lacks need no entry: ``fitting`` and the builder go by the schemas.

forms.py is the table, schemas.py what schemas say of it, known.py what is known of operands; the families of operators register
their forms there.
"""

from . import attributes, axes, comparing, counting, gathering
from .axes import front_axes
from .forms import MODERN, before, form_of, wanting
from .schemas import allowed, allowing, allowing_later, attributes_at, fitting, undefined

__all__ = [
    "MODERN", "allowed", "allowing", "allowing_later", "attributes", "attributes_at", "axes", "before", "comparing", "counting",
    "fitting", "form_of", "front_axes", "gathering", "undefined", "wanting",
]  # fmt: skip
