"""Control flow has no translation yet."""

from ..registry import not_exported

not_exported(
    "control flow is not translated yet; unroll the loop in the model (RNN cells: cell.unroll)",
    "_foreach",
    "_while_loop",
    "_cond",
)
