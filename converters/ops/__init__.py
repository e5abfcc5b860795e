"""The translations, one file per operator family (the same names as in hybrid/ops). For reading, a file is imported when one of its
ONNX operators is first asked for (index.txt says which that is); for writing all are."""

import threading

from hybrid.core.op import OPS
from hybrid.core.tables import Modules

from ..compositions import register_compositions
from ..registry import EVERY, EXPORT, IMPORT, NOT_EXPORTED, NOT_IMPORTED, PASSTHROUGH

MODULES = Modules(__name__, __path__)
_filling = threading.RLock()
_begun: list[bool] = []


def fill(_key: object) -> None:
    """Import all translations, and have those registered that go by the classes of operators."""
    with _filling:
        if _begun:  # done, or what registers asks what is there already
            return
        _begun.append(True)
        try:
            MODULES(None)
            for tell in EVERY:
                for name, cls in OPS.items():
                    tell(name, cls)
            register_compositions()
        except BaseException:
            _begun.clear()  # whoever asks next is told too
            raise


IMPORT.fill = MODULES
EXPORT.fill = NOT_EXPORTED.fill = PASSTHROUGH.fill = NOT_IMPORTED.fill = fill
