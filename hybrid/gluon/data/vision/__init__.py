"""Image datasets and transforms (``mx.gluon.data.vision``)."""
