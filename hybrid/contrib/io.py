"""A gluon DataLoader where a DataIter is wanted."""

from __future__ import annotations

from typing import Any

from ..io import DataBatch, DataDesc, DataIter


class DataLoaderIter(DataIter):
    """Batches of a gluon DataLoader, (data, label) each, for Module.

    Raises StopIteration at the loader's end; ``reset`` starts again. Source: MXNet contrib.io.DataLoaderIter.

    Parameters
    ----------
    loader : DataLoader
        Loader whose batches are (data, label), the examples along the first axis.
    data_name : str, default 'data'
        Name of the data.
    label_name : str, default 'softmax_label'
        Name of the labels.
    dtype : str or dtype, default 'float32'
        Dtype that both are cast to.

    Examples
    --------
    >>> from gluonnx import mx
    >>> pairs = mx.gluon.data.ArrayDataset(mx.nd.array([[1], [2], [3]]), mx.nd.array([0, 1, 0]))
    >>> loader = mx.gluon.data.DataLoader(pairs, batch_size=2)
    >>> data = mx.contrib.io.DataLoaderIter(loader)
    >>> [(desc.name, desc.shape) for desc in (*data.provide_data, *data.provide_label)]
    [('data', (2, 1)), ('softmax_label', (2,))]
    >>> [(batch.data[0].asnumpy().tolist(), batch.pad) for batch in data]
    [([[1.0], [2.0]], 0), ([[3.0], [0.0]], 1)]
    """

    def __init__(self, loader: Any, data_name: str = "data", label_name: str = "softmax_label", dtype: Any = "float32"):
        super().__init__()
        self._loader, self._dtype = loader, dtype
        self._iter = iter(loader)
        data, label = next(self._iter)
        self.batch_size = data.shape[0]
        self.provide_data = [DataDesc(data_name, data.shape, dtype)]
        self.provide_label = [DataDesc(label_name, label.shape, dtype)]
        self._names = data_name, label_name
        self.reset()

    def reset(self) -> None:
        """Start again."""
        self._iter = iter(self._loader)

    def next(self) -> DataBatch:
        """The next batch; a last one that is short is filled up with zeros, which ``pad`` counts."""
        from ..ndarray import concatenate, zeros

        data, label = next(self._iter)
        pad = self.batch_size - data.shape[0]
        parts = []
        for array in (data, label):
            array = array.astype(self._dtype, copy=False)
            if pad:
                array = concatenate([array, zeros((pad, *array.shape[1:]), dtype=self._dtype)])
            parts.append(array)
        return DataBatch([parts[0]], [parts[1]], pad=pad)
