"""The operators, one file per family. A file is imported when one of its operators is first asked for: index.txt says which."""

from ..core.op import OPS, REGISTRY
from ..core.tables import Modules

OPS.fill = REGISTRY.fill = Modules(__name__, __path__)
