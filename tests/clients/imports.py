"""Run by launch.py: imports every submodule of a package and prints what came of it, as one line of JSON."""

import importlib
import json
import pkgutil
import sys
import warnings


def reason(error: BaseException) -> str:
    """One line of what was raised."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


def imported(package: str) -> dict:
    """Number of modules, and those that do not import with the reason."""
    failed: dict[str, str] = {}
    try:
        root = importlib.import_module(package)
    except BaseException as error:
        return {"modules": 1, "failed": {package: reason(error)}}
    count = 1
    for found in pkgutil.walk_packages(root.__path__, package + ".", onerror=lambda _: None):
        if found.name.endswith("__main__"):
            continue
        count += 1
        try:
            importlib.import_module(found.name)
        except BaseException as error:
            failed[found.name] = reason(error)
    return {"modules": count, "failed": failed}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print("\nRESULT " + json.dumps(imported(sys.argv[1])))
