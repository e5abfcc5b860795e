"""Control flow: _foreach, _while_loop and _cond, whose bodies are subgraphs of their nodes.

A graph that holds them can be read, inspected and written again. Nothing is inferred for them and they do not run: that
needs the subgraphs, which belong to the node and not to the operator.
"""

from ..error import OpError
from ..op import Op, op

Locations = tuple[int, ...]


class ControlFlow(Op):
    """Base: any number of outputs, nothing inferred, and an error when it is to run."""

    num_args: int
    num_outputs: int

    inputs = ("*data",)
    bodies = 1
    """How many of the num_args are subgraphs, which are no inputs."""

    def check(self):
        if self.num_args < self.bodies or self.num_outputs < 1:
            return f"num_args={self.num_args} and num_outputs={self.num_outputs} want {self.bodies} and 1 at least"
        return None

    def takes(self):
        return tuple(f"arg{i}" for i in range(self.num_args - self.bodies))

    def returns(self):
        return ("output",) if self.num_outputs == 1 else tuple(f"output{i}" for i in range(self.num_outputs))

    def infer_shape(self, *shapes):
        return [None] * self.num_outputs

    def infer_type(self, *dtypes):
        return [None] * self.num_outputs

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def compute(self, *arrays):
        raise OpError("running control flow comes with a later version of gluonnx; unroll the loop in the model")


@op("_foreach")
class ForEach(ControlFlow):
    """A body applied to each slice of some inputs along axis 0, with states handed from step to step.

    The locations say, for the inputs, which variables of the body they are: slices, states, and those that stay the same.
    Outputs are the body's, stacked, then the last states. Source: MXNet contrib.foreach.
    """

    num_out_data: int
    in_state_locs: Locations
    in_data_locs: Locations
    remain_locs: Locations


@op("_while_loop")
class WhileLoop(ControlFlow):
    """A body applied to loop variables as long as a condition on them holds, max_iterations times at most.

    The locations say which inputs the condition and the body take, and which of the latter are loop variables. Outputs are
    the body's, stacked and filled up to max_iterations, then the last loop variables. Source: MXNet contrib.while_loop.
    """

    num_out_data: int
    max_iterations: int
    cond_input_locs: Locations
    func_input_locs: Locations
    func_var_locs: Locations

    bodies = 2


@op("_cond")
class Cond(ControlFlow):
    """One of two bodies, chosen by a condition. The locations say which inputs each of the three takes.

    Source: MXNet contrib.cond.
    """

    cond_input_locs: Locations
    then_input_locs: Locations
    else_input_locs: Locations

    bodies = 3
