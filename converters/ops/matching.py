"""Training targets have no translation: nothing of a detector that runs needs them."""

from ..registry import not_exported

not_exported(
    "makes targets for training; export the outputs that inference uses",
    "_contrib_MultiBoxTarget",
    "_contrib_box_encode",
    "_contrib_bipartite_matching",
)
