"""Executors of one symbol on several contexts, each of which computes its part of a batch."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from .. import ndarray
from ..context import Context, cpu
from ..executor import Executor
from ..io import DataDesc
from ..ndarray import NDArray
from ..symbol import Symbol
from .base_module import Params


def parts(batch_size: int, workload: Sequence[float]) -> list[slice]:
    """Consecutive slices of a batch in proportion to the workload. Raises ValueError when one would be empty."""
    total = sum(workload)
    sizes = [round(batch_size * w / total) for w in workload]
    sizes[-1] += max(0, batch_size - sum(sizes))
    slices = []
    begin = 0
    for size in sizes:
        end = min(begin + size, batch_size)
        if begin >= end:
            raise ValueError("Too many slices. Some splits are empty.")
        slices.append(slice(begin, end))
        begin = end
    return slices


def _join(arrays: Sequence[NDArray], axis: int) -> NDArray:
    """The parts of a batch as one array; where there is no batch axis, all contexts have the same."""
    return arrays[0] if len(arrays) == 1 or axis < 0 else ndarray.concat(*arrays, dim=axis)


def _cut(array: NDArray, part: slice, axis: int) -> NDArray:
    """A part of a batch. A view where the axis is the first."""
    if axis < 0 or (part.start == 0 and part.stop == array.shape[axis]):
        return array
    if axis == 0:
        return array[part]
    return ndarray.slice_axis(array, axis=axis, begin=part.start, end=part.stop)


class DataParallelExecutorGroup:
    """One Executor for each context. ``execs`` are they; ``param_arrays``, ``grad_arrays`` and ``aux_arrays`` hold a list over
    contexts for every name in ``param_names`` and ``aux_names``.

    workload: how much of a batch each context takes, relative to the others. shared_group: another group whose
    parameters, gradients and auxiliary states are to be used. Source: MXNet DataParallelExecutorGroup."""

    def __init__(
        self,
        symbol: Symbol,
        contexts: Sequence[Context],
        workload: Sequence[float],
        data_shapes: Sequence[DataDesc],
        label_shapes: Sequence[DataDesc] | None,
        param_names: Sequence[str],
        for_training: bool,
        inputs_need_grad: bool,
        shared_group: DataParallelExecutorGroup | None = None,
        logger: Any = logging,
        fixed_param_names: Sequence[str] | None = None,
        grad_req: Any = "write",
        state_names: Sequence[str] | None = None,
        group2ctxs: Sequence[Mapping[str, Context] | None] | None = None,
    ):
        self.symbol, self.contexts, self.workload, self.logger = symbol, list(contexts), list(workload), logger
        self.param_names = list(param_names)
        self.arg_names = symbol.list_arguments()
        self.aux_names = symbol.list_auxiliary_states()
        self.output_names = symbol.list_outputs()
        self.state_names = list(state_names or ())
        self.fixed_param_names = list(fixed_param_names or ())
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self.shared_group = shared_group
        self.group2ctxs = group2ctxs
        self.grad_req = self._requests(grad_req, [d.name for d in data_shapes])
        self.output_axes = [DataDesc.get_batch_axis(symbol[i].attr("__layout__")) for i in range(len(symbol))]
        self.execs: list[Executor] = []
        self.label_names: list[str] = []
        self.label_axes: list[int] = []
        self._place(data_shapes, label_shapes)
        for i, context in enumerate(self.contexts):
            shapes, types = self._shapes(i)
            shared = None if shared_group is None else shared_group.execs[i]
            made = symbol.simple_bind(
                context,
                grad_req=self.grad_req,
                type_dict=types,
                group2ctx=None if group2ctxs is None else group2ctxs[i],
                shared_arg_names=[*self.param_names, *self._shared_states(shapes, shared)],
                shared_exec=shared,
                shared_buffer={},
                **shapes,
            )
            self.execs.append(made)
        self._collect()

    def _shared_states(self, shapes: Mapping[str, tuple[int, ...]], shared: Executor | None) -> list[str]:
        """The states that go on in another group: those of the same shape there."""
        if shared is None or not self.state_names:
            return []
        found, _, _ = self.symbol.infer_shape_partial(**shapes)
        own = dict(zip(self.arg_names, found))
        return [n for n in self.state_names if n in shared.arg_dict and own[n] == shared.arg_dict[n].shape]

    def _requests(self, grad_req: Any, data_names: Sequence[str]) -> dict[str, str]:
        """grad_req of every argument: as asked for trained parameters, and inputs with inputs_need_grad."""
        if isinstance(grad_req, list | tuple):
            if len(grad_req) != len(self.arg_names):
                raise AssertionError(f"grad_req: got {len(grad_req)} for {len(self.arg_names)} arguments")
            asked: Mapping[str, str] = dict(zip(self.arg_names, grad_req))
            return dict(asked) if self.for_training else dict.fromkeys(self.arg_names, "null")
        if not isinstance(grad_req, str | Mapping):
            raise ValueError("grad_req must be one of str, list, tuple, or dict.")
        requests = {}
        for name in self.arg_names:
            trained = name in self.param_names and name not in self.fixed_param_names
            wanted = self.for_training and (trained or (self.inputs_need_grad and name in data_names))
            own = grad_req if isinstance(grad_req, str) else "write"
            requests[name] = own if wanted else "null"
        if isinstance(grad_req, Mapping) and self.for_training:
            requests.update({n: r for n, r in grad_req.items() if n in requests})
        return requests

    # -- set-up -------------------------------------------------------------------------------------------------------

    def _place(self, data_shapes: Sequence[DataDesc], label_shapes: Sequence[DataDesc] | None) -> None:
        """Decide which part of a batch goes where. Raises AssertionError when inputs are batches of different sizes."""
        self.data_shapes, self.label_shapes = list(data_shapes), list(label_shapes) if label_shapes else None
        self.data_names = [d.name for d in self.data_shapes]
        self.data_axes = [DataDesc.get_batch_axis(d.layout) for d in self.data_shapes]
        if self.label_shapes:  # metrics are told labels that were not bound, too
            self.label_names = [d.name for d in self.label_shapes]
            self.label_axes = [DataDesc.get_batch_axis(d.layout) for d in self.label_shapes]
        size = None
        for (name, shape), axis in zip(
            (*self.data_shapes, *(self.label_shapes or ())), (*self.data_axes, *self.label_axes)
        ):
            if axis < 0:
                continue
            if size is not None and shape[axis] != size:
                raise AssertionError(
                    f"all data must have the same batch size: batch_size = {size}, but {name} has shape {shape}"
                )
            size = shape[axis]
        if size is None:
            raise AssertionError("no input has a batch axis: give one a layout with N in it")
        self.batch_size = size
        self.slices = parts(size, self.workload)

    def _shapes(self, i: int) -> tuple[dict[str, tuple[int, ...]], dict[str, Any]]:
        """Shapes and dtypes of the inputs of one context."""
        described = (*self.data_shapes, *(self.label_shapes or ()))
        count = self.slices[i].stop - self.slices[i].start
        shapes = {}
        for d, axis in zip(described, (*self.data_axes, *self.label_axes)):
            shape = list(d.shape)
            if axis >= 0:
                shape[axis] = count
            shapes[d.name] = tuple(shape)
        return shapes, {d.name: d.dtype for d in described}

    def _collect(self) -> None:
        """The arrays of all executors, by what they are for."""
        arguments = [e.arg_dict for e in self.execs]
        gradients = [e.grad_dict for e in self.execs]
        states = [e.aux_dict for e in self.execs]

        def arrays(names: Sequence[str], held: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
            return [[h[n] for h in held] for n in names]

        def placed(names: Sequence[str]) -> list[list[tuple[slice, NDArray]]]:
            return [list(zip(self.slices, a)) for a in arrays(names, arguments)]

        # a symbol without the label has no place for it
        self.data_arrays = placed(self.data_names)
        labels = [n for n in self.label_names if n in self.arg_names]
        self.label_arrays = placed(labels) if self.label_shapes else None
        self.state_arrays = arrays(self.state_names, arguments)
        self.param_names = [n for n in self.arg_names if n in set(self.param_names)]
        self.param_arrays = arrays(self.param_names, arguments)
        self.grad_arrays = arrays(self.param_names, gradients) if self.for_training else None
        self.input_grad_arrays = arrays(self.data_names, gradients) if self.inputs_need_grad else None
        self.aux_arrays = arrays(self.aux_names, states)

    def reshape(self, data_shapes: Sequence[DataDesc], label_shapes: Sequence[DataDesc] | None) -> None:
        """Go on with inputs of other shapes, and the same parameters."""
        if (
            list(data_shapes) == self.data_shapes
            and (list(label_shapes) if label_shapes else None) == self.label_shapes
        ):
            return
        self._place(data_shapes, label_shapes)
        for i, executor in enumerate(self.execs):
            found, _, _ = self.symbol.infer_shape_partial(**self._shapes(i)[0])
            # labels that are not given change with the data
            moved = {n: s for n, s in zip(self.arg_names, found) if n not in self.param_names and s and 0 not in s}
            self.execs[i] = executor.reshape(False, True, **moved)
        self._collect()

    # -- parameters ---------------------------------------------------------------------------------------------------

    def set_params(self, arg_params: Params, aux_params: Params, allow_extra: bool = False) -> None:
        """Copy parameters to all contexts."""
        for executor in self.execs:
            executor.copy_params_from(arg_params, aux_params, allow_extra_params=allow_extra)

    def get_params(self, arg_params: Params, aux_params: Params) -> None:
        """Copy the means over contexts to the arrays given."""
        for names, held, targets in (
            (self.param_names, self.param_arrays, arg_params),
            (self.aux_names, self.aux_arrays, aux_params),
        ):
            for name, arrays in zip(names, held):
                total: Any = arrays[0].as_in_context(cpu())
                for array in arrays[1:]:
                    total = total + array.as_in_context(cpu())
                targets[name][:] = total / len(arrays) if len(arrays) > 1 else total

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """The arrays of state_names, of all contexts together or as lists over contexts."""
        return [_join(a, 0) for a in self.state_arrays] if merge_multi_context else self.state_arrays

    def set_states(self, states: Any = None, value: Any = None) -> None:
        """Copy to the arrays of state_names: a value to all, or an array, or a list over contexts, to each."""
        if (states is None) == (value is None):
            raise AssertionError("set_states: give either states or value")
        for i, arrays in enumerate(self.state_arrays):
            for k, array in enumerate(arrays):
                if states is None:
                    array[:] = value
                elif isinstance(states[i], NDArray):
                    array[:] = _cut(states[i], self.slices[k], 0)
                else:
                    array[:] = states[i][k]

    # -- running ------------------------------------------------------------------------------------------------------

    def _load(
        self,
        given: Sequence[Any],
        places: Sequence[Any],
        axes: Sequence[int],
        names: Sequence[str],
        partial: bool = False,
    ) -> None:
        """Copy the parts of arrays where they are computed with. Each is one array, or a list over contexts.

        Raises ValueError for too few arrays (but with ``partial``, which leaves the others), or arrays of another shape."""
        if len(given) < len(places) and not partial:
            raise ValueError(f"got {len(given)} arrays, wanted {len(places)} ({', '.join(names)})")
        for source, targets, axis, name in zip(given, places, axes, names):
            for k, (part, target) in enumerate(targets):
                own = source[k] if isinstance(source, list | tuple) else _cut(source, part, axis)
                if tuple(own.shape) != target.shape:
                    raise ValueError(f"{name}: got shape {tuple(own.shape)}, wanted {target.shape} as bound")
                target[:] = own

    def load(self, data_batch: Any, labels: bool = True, training: bool = True) -> None:
        """Copy a batch, or a list of batches, one for each context, where it is computed with. Not training it may lack labels,
        which only losses read: a student's network is scored without its teacher's."""
        several = isinstance(data_batch, list)
        data = list(zip(*(b.data for b in data_batch))) if several else data_batch.data
        self._load(data, self.data_arrays, self.data_axes, self.data_names)
        if self.label_arrays is not None and labels:
            given = [b.label for b in data_batch] if several else data_batch.label
            if all(given) if several else given:
                label = list(zip(*given)) if several else given
                self._load(label, self.label_arrays, self.label_axes, self.label_names, partial=not training)

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Compute outputs; is_train None means for_training."""
        training = self.for_training if is_train is None else is_train
        self.load(data_batch, training=training)
        for executor in self.execs:
            executor.forward(is_train=training)

    def backward(self, out_grads: Any = None) -> None:
        """Compute gradients; out_grads are of whole batches. Raises AssertionError unless bound for training."""
        if not self.for_training:
            raise AssertionError("re-bind with for_training=True to run backward")
        given = [] if out_grads is None else [out_grads] if isinstance(out_grads, NDArray) else list(out_grads)
        for executor, part in zip(self.execs, self.slices):
            own = [_cut(g, part, axis) for g, axis in zip(given, self.output_axes)]
            executor.backward(own or None)

    def get_outputs(self, merge_multi_context: bool = True, begin: int = 0, end: int | None = None) -> list[Any]:
        """The outputs from begin up to end."""
        columns = [list(c) for c in zip(*(e.outputs[begin:end] for e in self.execs))]
        if not merge_multi_context:
            return columns
        return [_join(c, axis) for c, axis in zip(columns, self.output_axes[begin:end])]

    def get_output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """(name, shape) of every output, for a whole batch."""
        found = []
        for name, axis, arrays in zip(self.output_names, self.output_axes, self.get_outputs(False)):
            shape = list(arrays[0].shape)
            if axis >= 0 and shape:
                shape[axis] = sum(a.shape[axis] for a in arrays)
            found.append((name, tuple(shape)))
        return found

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """The gradients of the inputs. Raises AssertionError unless bound with inputs_need_grad."""
        if self.input_grad_arrays is None:
            raise AssertionError("bind with inputs_need_grad=True to get the gradients of inputs")
        if not merge_multi_context:
            return self.input_grad_arrays
        return [_join(a, axis) for a, axis in zip(self.input_grad_arrays, self.data_axes)]

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Tell a metric the labels and outputs of each context. pre_sliced: labels are a list for each context."""
        for k, (executor, part) in enumerate(zip(self.execs, self.slices)):
            given = labels[k] if pre_sliced else [_cut(x, part, axis) for x, axis in zip(labels or (), self.label_axes)]
            eval_metric.update_dict(dict(zip(self.label_names, given)), dict(zip(self.output_names, executor.outputs)))

    def install_monitor(self, mon: Any) -> None:
        """Have a Monitor watch all executors."""
        for executor in self.execs:
            mon.install(executor)
