"""Faults in how iterators of a program's own go on. Rows are as in faults.py."""

from __future__ import annotations

FILE, TESTS = "hybrid/resuming/again.py", "tests/distributed/test_going_on.py -k "

ROWS: list[tuple[str, ...]] = [
    (
        "states where they moved apart are dropped",
        "hybrid/resuming/data.py",
        "        self._names -= both\n        self._after = after",
        "        self._names -= both or self._names\n        self._after = after",
        TESTS + "own",
    ),
    (
        "calls beside the batches",
        FILE,
        "if self.for_batches:\n                    self.trained",
        "if not self.for_batches:\n                    self.trained",
        TESTS + "own",
    ),
    (
        "calls within calls",
        FILE,
        "        given = None\n        Again._within = True",
        "        given = None\n        Again._within = False",
        TESTS + "own",
    ),
    (
        "other batches pass",
        FILE,
        "if seen[number] != found}",
        "if not seen[number]}",
        TESTS + "measured_by",
    ),
    (
        "random numbers after going through",
        FILE,
        "            return self.whole.repeat(self._do)\n        finally:\n            Again._within = False\n"
        "            rng.set_all_states(before)",
        "            return self.whole.repeat(self._do)\n        finally:\n            Again._within = False",
        TESTS + "own",
    ),
    (
        "those of an epoch before",
        FILE,
        "if self._base < made <= self._epoch:",
        "if self._epoch < made <= self._base:",
        TESTS + "cannot_be_made_to_stand",
    ),
    (
        "one that says goes through its epoch",
        "hybrid/resuming/training.py",
        'bytes(found["mark_before"]).decode(), 0\n',
        'bytes(found["mark_before"]).decode(), self._batch\n',
        TESTS + "own",
    ),
    (
        "one that begins anew when asked",
        "hybrid/resuming/training.py",
        "if skipping < done and source is data:",
        "if skipping < done and source is not data:",
        TESTS + "own",
    ),
    (
        "what was drawn ahead of the first batch",
        "hybrid/resuming/training.py",
        "if found is not None and done:",
        "if found is not None:",
        TESTS + "own",
    ),
    (
        "a twist too many",
        "hybrid/core/rng.py",
        "for times, now in zip(range(self.FAR), _twisted(before)):",
        "for times, now in enumerate(itertools.islice(_twisted(before), self.FAR), 1):",
        TESTS + "twisters",
    ),
    (
        "what is done goes through its data",
        "hybrid/resuming/training.py",
        "self._again.put_off(functools.partial(self._go_again, found, last=True))",
        "self._go_again(found, last=True)",
        TESTS + "nothing_once_more",
    ),
]
