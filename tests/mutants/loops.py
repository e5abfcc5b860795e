"""Faults in what a training says of its loops, of its place and of a state that is damaged. Rows are as in faults.py."""

from __future__ import annotations

FILE = "hybrid/resuming/training.py"
GOING_ON, RESUMING = "tests/distributed/test_going_on.py -k ", "tests/distributed/test_resuming.py -k "

ROWS: list[tuple[str, ...]] = [
    (
        "epochs without batches are only remarked",
        FILE,
        "if self._epoch + 1 < end or (self._found is not None",
        "if (self._found is not None",
        GOING_ON + "epochs_without_batches",
    ),
    (
        "the midst of the last epoch is trained twice",
        FILE,
        'if self._epoch + 1 < end or (self._found is not None and "at_begin" in self._found):',
        "if self._epoch + 1 < end:",
        GOING_ON + "midst_of_the_last",
    ),
    (
        "batches behind the last epoch",
        FILE,
        "            self._in_epochs = False\n            if found is None:",
        "            if found is None:",
        GOING_ON + "batches_without_epochs",
    ),
    (
        "epochs of before count as asked for",
        FILE,
        '        self._in_epochs = False\n        """True once',
        '        self._in_epochs = True\n        """True once',
        GOING_ON + "batches_without_epochs",
    ),
    (
        "a state of no bytes is none",
        FILE,
        "        if content is None:\n            return None",
        "        if not content:\n            return None",
        RESUMING + "states_of_others",
    ),
    (
        "a state of no bytes is none to ranks",
        FILE,
        "content = bytes(gathered) if there else None",
        "content = bytes(gathered) if there and len(gathered) else None",
        RESUMING + "ranks_refuse",
    ),
    (
        "a place is not tried",
        FILE,
        "                check_writable(self._path())\n",
        "",
        RESUMING + "place_that_cannot",
    ),
    (
        "a trial is left behind",
        "hybrid/formats/files.py",
        "            probe.file.flush()\n    finally:\n        probe.discard()",
        "            probe.file.flush()\n    finally:\n        probe.file.close()",
        RESUMING + "place_that_cannot",
    ),
]
