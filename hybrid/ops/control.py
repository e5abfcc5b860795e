"""Control flow: _foreach, _while_loop and _cond, whose bodies are subgraphs of their nodes.

Rules get the subgraphs as ``subgraphs``, one function each (see Op.needs). A subgraph's inputs are its variables in order; the
attributes called locations say what each of them is, so all that happens here is putting things in the right places.

Bodies train when the graph around them does: in a bound executor when ``is_train`` says so. MXNet's then still ask the mode of the
thread, so that Dropout inside a loop drops nothing while Module trains, which nobody can want; in blocks both are the same.
"""

import numpy as np

from ..core.attrs import Several
from ..core.memory_budget import afford_step
from ..core.op import Op, op
from ..core.shapes import UNKNOWN, identical, merge, merge_all

Locations = tuple[int, ...]


class ControlFlow(Op):
    """Base: any number of outputs, and errors for attributes and subgraphs that do not fit each other."""

    objects = True

    num_args: Several
    num_outputs: Several

    inputs = ("*data",)
    needs = ("subgraphs",)
    data_dependent_shape = True
    num_subgraphs = 1
    """Number of the num_args that are subgraphs, which are no inputs."""
    differentiates = False
    """True where the subgraphs are gradients of bodies."""
    differentiated = (0,)
    """Those of them that results come from, not only decisions."""

    def check(self):
        if self.num_args < self.num_subgraphs or self.num_outputs < 1:
            return (
                f"num_args={self.num_args} and num_outputs={self.num_outputs} want {self.num_subgraphs} and 1 at least"
            )
        return self.check_locations(self.num_args - self.num_subgraphs)

    def check_locations(self, given: int) -> str | None:
        """Describe what is wrong with the locations of so many inputs; None when nothing is."""
        raise NotImplementedError

    def within(self, limit: int, *names: str) -> str | None:
        """Describe which locations of these names are not less than limit; None when all are."""
        wrong = [f"{n}={getattr(self, n)}" for n in names if not all(0 <= i < limit for i in getattr(self, n))]
        return f"got {' and '.join(wrong)} with {limit} to choose from" if wrong else None

    def input_names(self):
        return tuple(f"arg{i}" for i in range(self.num_args - self.num_subgraphs))

    def output_names(self):
        return ("output",) if self.num_outputs == 1 else tuple(f"output{i}" for i in range(self.num_outputs))

    def those(self, subgraphs):
        """The bodies, if there are as many as there have to be."""
        if len(subgraphs) != self.num_subgraphs:
            raise self.error(
                f"got {len(subgraphs)} subgraphs, wanted {self.num_subgraphs}, which only a node of a graph has"
            )
        return subgraphs

    def results(self, found, wanted=None):
        """The outputs found of a body, if there are as many as there have to be."""
        wanted = self.num_outputs if wanted is None else wanted
        if len(found) != wanted:
            raise self.error(f"got a subgraph of {len(found)} outputs, wanted {wanted}")
        return list(found)

    def state_dtypes(self, before, after, what):
        """dtypes of states after a step, which have to be those before it."""
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            if old is not None and new is not None and old != new:
                raise self.error(f"{what} {index} is {old} before a step and {new} after it; cast it in the body")
        return list(before)

    def infer_input_types(self, dtypes, outputs, subgraphs=()):
        return dtypes

    def infer_input_shapes(self, shapes, outputs, subgraphs=()):
        return shapes

    def gradient(self, F, dy, *arrays):
        raise self.error(
            "its gradient is made of its subgraphs (ir/differentiate.py), which only a node of a graph has"
        )


@op("_foreach")
class ForEach(ControlFlow):
    """A body applied to each slice of some inputs along axis 0, with states handed from step to step.

    The locations say which of the body's variables are slices, states, and what stays the same; the inputs come in that
    order. Outputs are the body's, stacked (T, ...), then the last states, which keep shape and dtype. Slices of data of rank
    1 have shape (1,). Source: MXNet contrib.foreach."""

    num_out_data: Several
    in_state_locs: Locations
    in_data_locs: Locations
    remain_locs: Locations

    primitive = True

    def check_locations(self, given):
        places = (*self.in_data_locs, *self.in_state_locs, *self.remain_locs)
        if sorted(places) != list(range(given)):
            return f"got locations {places}, wanted each of the {given} inputs once"
        if not self.in_data_locs:
            return "got no data to iterate over"
        states = self.num_outputs - self.num_out_data
        if len(self.in_state_locs) != states:
            return f"got {len(self.in_state_locs)} states, but {states} outputs for them"
        return None

    def split(self, inputs):
        """Data, states and the rest of the inputs."""
        data, states = len(self.in_data_locs), len(self.in_state_locs)
        return list(inputs[:data]), list(inputs[data : data + states]), list(inputs[data + states :])

    def arrange(self, slices, states, rest):
        """Values of the body's variables, in their order."""
        places = (*self.in_data_locs, *self.in_state_locs, *self.remain_locs)
        return [value for _, value in sorted(zip(places, (*slices, *states, *rest)), key=lambda pair: pair[0])]

    def found(self, held):
        """The inverse of placed: slices, states, rest."""
        return self.split([held[i] for i in (*self.in_data_locs, *self.in_state_locs, *self.remain_locs)])

    @staticmethod
    def slice_shape(shape):
        """The shape of one slice of data."""
        return None if shape is None else tuple(shape[1:]) or (1,)

    def infer_input_shapes(self, shapes, outputs, subgraphs=()):
        (body,) = self.those(subgraphs)
        data, states, rest = self.split(shapes)
        if () in data:
            raise self.error("got data of no dimension, wanted an axis to iterate over")
        held, results = body(self.arrange(map(self.slice_shape, data), states, rest))
        results = self.results(results)
        slices, states, rest = self.found(held)
        count = self.num_out_data
        states = [merge_all(known) for known in zip(states, results[count:], outputs[count:])]
        length = merge((UNKNOWN,), merge_all(s[:1] for s in (*data, *outputs[:count]) if s is not None))
        slices = [s if d is None or len(d) > 1 else () for d, s in zip(data, slices)]
        data = [d if d is None or s is None else merge(d, (*length, *s)) for d, s in zip(data, slices)]
        return [*data, *states, *rest]

    def infer_shape(self, *shapes, subgraphs=()):
        (body,) = self.those(subgraphs)
        data, states, rest = self.split(shapes)
        _, results = body(self.arrange(map(self.slice_shape, data), states, rest))
        results = self.results(results)
        stacked = [None if s is None else (data[0][0], *s) for s in results[: self.num_out_data]]
        return stacked + [merge(s, r) for s, r in zip(states, results[self.num_out_data :])]

    def infer_input_types(self, dtypes, outputs, subgraphs=()):
        held, _ = self.those(subgraphs)[0](self.arrange(*self.split(dtypes)))
        slices, states, rest = self.found(held)
        return [*slices, *states, *rest]

    def infer_type(self, *dtypes, subgraphs=()):
        _, states, _ = self.split(dtypes)
        results = self.results(self.those(subgraphs)[0](self.arrange(*self.split(dtypes)))[1])
        return results[: self.num_out_data] + self.state_dtypes(states, results[self.num_out_data :], "state")

    def compute(self, *arrays, subgraphs=()):
        (body,) = self.those(subgraphs)
        data, states, rest = self.split(arrays)
        data = [d[:, None] if d.ndim == 1 else d for d in data]
        if self.num_out_data and not len(data[0]):
            raise self.error("got data of length 0, wanted one step at least")
        steps = []
        for slices in zip(*data, strict=True):
            results = self.results(body(self.arrange(slices, states, rest)))
            steps.append(results[: self.num_out_data])
            states = results[self.num_out_data :]
        return [*map(np.stack, zip(*steps)), *states]


@op("_while_loop")
class WhileLoop(ControlFlow):
    """A body applied to loop variables as long as a condition on them holds, max_iterations times at most.

    The locations say which inputs the condition and the body take, and which of the body's variables are loop variables,
    which may change shape but not dtype. Outputs are the body's, stacked and filled up to (max_iterations, ...), then the
    last loop variables. Rows of steps not taken are 0, where MXNet leaves what was in memory; without any step taken there
    is no output to fill, an error as in MXNet. Source: MXNet contrib.while_loop."""

    num_out_data: Several
    max_iterations: int
    cond_input_locs: Locations
    func_input_locs: Locations
    func_var_locs: Locations

    primitive = True

    num_subgraphs = 2
    differentiated = (1,)

    def check_locations(self, given):
        count = self.num_outputs - self.num_out_data
        if len(self.func_var_locs) != count:
            return f"got {len(self.func_var_locs)} loop variables, but {count} outputs for them"
        if len(set(self.func_var_locs)) < count or len(set(self.func_input_locs)) < len(self.func_input_locs):
            return f"got func_var_locs={self.func_var_locs} of func_input_locs={self.func_input_locs}, wanted each once"
        return self.within(given, "cond_input_locs", "func_input_locs") or self.within(
            len(self.func_input_locs), "func_var_locs"
        )

    def variables(self, inputs):
        """The loop variables among the inputs."""
        return [inputs[self.func_input_locs[i]] for i in self.func_var_locs]

    def arrange(self, inputs, variables):
        """Values of the variables of the condition and of the body, with these loop variables."""
        now = list(inputs)
        for place, value in zip(self.func_var_locs, variables):
            now[self.func_input_locs[place]] = value
        return [now[i] for i in self.cond_input_locs], [now[i] for i in self.func_input_locs]

    def infer_shape(self, *shapes, subgraphs=()):
        condition, body = self.those(subgraphs)
        variables = self.variables(shapes)
        while True:
            asked, held = self.arrange(shapes, variables)
            self.results(condition(asked)[1], 1)
            results = self.results(body(held)[1])
            after = [common(a, b) for a, b in zip(variables, results[self.num_out_data :])]
            if all(map(identical, variables, after)):
                break
            variables = after
        stacked = [None if s is None else (self.max_iterations, *s) for s in results[: self.num_out_data]]
        return stacked + variables

    def infer_type(self, *dtypes, subgraphs=()):
        variables = self.variables(dtypes)
        results = self.results(self.those(subgraphs)[1](self.arrange(dtypes, variables)[1])[1])
        return results[: self.num_out_data] + self.state_dtypes(
            variables, results[self.num_out_data :], "loop variable"
        )

    def compute(self, *arrays, subgraphs=()):
        condition, body = self.those(subgraphs)
        variables, steps = self.variables(arrays), []
        while len(steps) < self.max_iterations:
            asked, held = self.arrange(arrays, variables)
            if not truth(self, *self.results(condition(asked), 1)):
                break
            afford_step(len(steps), self.name)
            results = self.results(body(held))
            steps.append(results[: self.num_out_data])
            variables = results[self.num_out_data :]
        if self.num_out_data and not steps:
            raise self.error("the condition does not hold at the start, so there are no outputs")
        stacked = []
        for column in zip(*steps):
            if len({array.shape for array in column}) > 1:
                raise self.error(f"an output changes its shape from step to step: {[a.shape for a in column]}")
            rows = np.zeros((self.max_iterations, *column[0].shape), column[0].dtype)
            rows[: len(column)] = column
            stacked.append(rows)
        return stacked + variables


@op("_cond")
class Cond(ControlFlow):
    """One of two bodies, chosen by a condition of one element (0 chooses the second; NaN is not 0).

    The locations say which inputs each of the three takes. The two give the same dtypes, and shapes that may differ.
    Source: MXNet contrib.cond."""

    cond_input_locs: Locations
    then_input_locs: Locations
    else_input_locs: Locations

    primitive = True

    num_subgraphs = 3
    differentiated = (1, 2)

    def check_locations(self, given):
        return self.within(given, "cond_input_locs", "then_input_locs", "else_input_locs")

    def arrange(self, inputs):
        """Values of the variables of the condition and of the two bodies."""
        return [[inputs[i] for i in one] for one in (self.cond_input_locs, self.then_input_locs, self.else_input_locs)]

    def _both(self, values, subgraphs):
        found = [body(held)[1] for body, held in zip(self.those(subgraphs), self.arrange(values))]
        self.results(found[0], 1)
        return zip(*map(self.results, found[1:]))

    def infer_shape(self, *shapes, subgraphs=()):
        return [common(a, b) for a, b in self._both(shapes, subgraphs)]

    def infer_type(self, *dtypes, subgraphs=()):
        pairs = list(self._both(dtypes, subgraphs))
        for index, (a, b) in enumerate(pairs):
            if a is not None and b is not None and a != b:
                raise self.error(f"output {index} is {a} in one body and {b} in the other; cast one of them")
        return [b if a is None else a for a, b in pairs]

    def compute(self, *arrays, subgraphs=()):
        subgraphs, held = self.those(subgraphs), self.arrange(arrays)
        chosen = 1 if truth(self, *self.results(subgraphs[0](held[0]), 1)) else 2
        return self.results(subgraphs[chosen](held[chosen]))


class ControlFlowBackward(ControlFlow):
    """Base of the gradients of control flow: from those of the outputs, and the inputs, to those of the inputs.

    The subgraphs are those of the forward operator, then for each that is differentiated one with the gradients of its
    variables. These read, of the body's variables and then the gradients of its outputs, those at ``reads``, and give the
    gradients of the variables at ``reaches``."""

    reads: tuple[Locations, ...]
    reaches: tuple[Locations, ...]

    differentiates = True
    data_dependent_shape = False

    def input_names(self):
        return (*(f"dy{i}" for i in range(self.num_outputs)), *super().input_names())

    def output_names(self):
        return tuple(f"d{name}" for name in super().input_names())

    def infer_shape(self, *shapes, subgraphs=()):
        return list(shapes[self.num_outputs :])

    def infer_type(self, *dtypes, subgraphs=()):
        return list(dtypes[self.num_outputs :])

    def infer_input_shapes(self, shapes, outputs, subgraphs=()):
        return shapes

    def infer_input_types(self, dtypes, outputs, subgraphs=()):
        return dtypes

    def compute(self, *arrays, subgraphs=()):
        forward, backs = subgraphs[: self.num_subgraphs], subgraphs[self.num_subgraphs :]
        if len(forward) + len(self.differentiated) != len(subgraphs):
            raise self.error(f"got {len(subgraphs)} subgraphs, which only a node of a graph has")
        inputs = arrays[self.num_outputs :]
        gradients = [np.zeros_like(x) for x in inputs]
        self.back(arrays[: self.num_outputs], inputs, gradients, forward, backs)
        return gradients

    def back(self, dy, inputs, gradients, forward, backs):
        """Add to the gradients of the inputs."""
        raise NotImplementedError

    def through(self, backs, which, held, heads):
        """The gradients of what a body's variables held, in their order."""
        values = (*held, *heads)
        found = dict(zip(self.reaches[which], backs[which]([values[i] for i in self.reads[which]])))
        return [found[i] if i in found else np.zeros_like(value) for i, value in enumerate(held)]


@op("_backward__foreach")
class ForEachBackward(ControlFlowBackward, ForEach):
    """The gradients of the inputs of _foreach."""

    def back(self, dy, inputs, gradients, forward, backs):
        data, states, rest = self.split(inputs)
        data = [d[:, None] if d.ndim == 1 else d for d in data]
        steps = []
        for slices in zip(*data, strict=True):
            steps.append(self.arrange(slices, states, rest))
            states = self.results(forward[0](steps[-1]))[self.num_out_data :]
        ddata, first, drest = self.split(gradients)
        dstates = dy[self.num_out_data :]
        for t in reversed(range(len(steps))):
            heads = (*(one[t] for one in dy[: self.num_out_data]), *dstates)
            slices, dstates, others = self.found(self.through(backs, 0, steps[t], heads))
            for total, part in zip(ddata, slices):
                total[t] = part.reshape(total[t].shape)
            for total, part in zip(drest, others):
                total += part
        for total, part in zip(first, dstates):
            total += part


@op("_backward__while_loop")
class WhileLoopBackward(ControlFlowBackward, WhileLoop):
    """The gradients of the inputs of _while_loop."""

    def back(self, dy, inputs, gradients, forward, backs):
        condition, body = forward
        variables, steps = self.variables(inputs), []
        while len(steps) < self.max_iterations:
            asked, held = self.arrange(inputs, variables)
            if not truth(self, *self.results(condition(asked), 1)):
                break
            afford_step(len(steps), self.name)
            steps.append(held)
            variables = self.results(body(held))[self.num_out_data :]
        dvariables = dy[self.num_out_data :]
        for t in reversed(range(len(steps))):
            parts = self.through(backs, 0, steps[t], (*(one[t] for one in dy[: self.num_out_data]), *dvariables))
            dvariables = [parts[i] for i in self.func_var_locs]
            for place, part in enumerate(parts):
                if place not in self.func_var_locs:
                    gradients[self.func_input_locs[place]] += part
        for place, part in zip(self.func_var_locs, dvariables):
            gradients[self.func_input_locs[place]] += part


@op("_backward__cond")
class CondBackward(ControlFlowBackward, Cond):
    """The gradients of the inputs of _cond."""

    def back(self, dy, inputs, gradients, forward, backs):
        held = self.arrange(inputs)
        chosen = 1 if truth(self, *self.results(forward[0](held[0]), 1)) else 2
        places = self.then_input_locs if chosen == 1 else self.else_input_locs
        for place, part in zip(places, self.through(backs, chosen - 1, held[chosen], dy)):
            gradients[place] += part


def truth(op: Op, condition: np.ndarray) -> bool:
    """A condition as a bool. Raises OpError unless it is of one element."""
    if condition.size != 1:
        raise op.error(f"got a condition of shape {condition.shape}, wanted one element")
    return bool(condition.item())


def common(a, b):
    """The shape that fits both: dims that differ are unknown, as is everything when the ranks differ."""
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(x if x is not UNKNOWN and y is not UNKNOWN and x == y else UNKNOWN for x, y in zip(a, b))
