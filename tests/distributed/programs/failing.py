"""A rank that goes wrong in the middle: ``failing.py HOW``. All others wait for it in a push."""

import os
import signal
import sys
import time

import mxnet as mx

HOW = sys.argv[1]
store = mx.kv.create("dist_async" if HOW == "server" else "dist_sync")
last = store.rank == store.num_workers - 1
if HOW == "other_key":
    store.init("key of one" if last else "key of all", mx.nd.ones((2,)))
if HOW == "other_shape":
    store.init("a", mx.nd.ones((3,) if last else (2,)))
store.init("a", mx.nd.ones((2,)))
out = mx.nd.zeros((2,))
if HOW == "server":

    def update(key, pushed, kept):
        raise ValueError("no update today")

    store.set_updater(update)
    store._barrier()
for step in range(10):
    if last and step == 5:
        if HOW == "raises":
            raise ValueError("five is too much")
        if HOW == "exits":
            sys.exit(3)
        if HOW == "returns":
            break
        if HOW == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if HOW == "stopped":
            os.kill(os.getpid(), signal.SIGSTOP)
        if HOW == "sleeps":
            time.sleep(1000)
    store.push("a", mx.nd.ones((2,)))
    store.pull("a", out=out)
    out.wait_to_read()
print("done", store.rank)
