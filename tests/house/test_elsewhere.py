"""Systems other than Linux: the packages, in a process from which what these systems lack has been taken away."""

import os
import subprocess
import sys
from pathlib import Path

from tests.house.docs import ROOT

MODULES = "crypt fcntl grp nis ossaudiodev posix pwd pty readline resource spwd syslog termios tty"
NAMES = {
    "os": "chown confstr copy_file_range ctermid environb fchdir fchown fdatasync fork forkpty fpathconf fstatvfs getegid geteuid "
    "getgid getgroups getloadavg getpgid getpgrp getpriority getrandom getsid getuid getxattr killpg lchown listxattr lockf "
    "memfd_create mkfifo mknod nice openpty pathconf pidfd_open pipe2 posix_fadvise posix_fallocate posix_spawn pread preadv "
    "pwrite pwritev readv register_at_fork removexattr sched_getaffinity sched_setaffinity sched_yield sendfile setpgid "
    "setpriority setsid setxattr splice statvfs sync sysconf sysconf_names ttyname uname wait wait3 wait4 waitid writev "
    "O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK O_SYNC POSIX_FADV_DONTNEED POSIX_FADV_SEQUENTIAL WEXITSTATUS WIFEXITED "
    "WIFSIGNALED WNOHANG WTERMSIG",
    "signal": "SIGALRM SIGBUS SIGCHLD SIGHUP SIGKILL SIGPIPE SIGQUIT SIGSTOP SIGUSR1 SIGUSR2 SIG_BLOCK SIG_SETMASK SIG_UNBLOCK "
    "alarm pthread_kill pthread_sigmask setitimer sigwait",
    "mmap": "MADV_DONTNEED MADV_HUGEPAGE MADV_SEQUENTIAL MADV_WILLNEED MAP_ANON MAP_ANONYMOUS MAP_POPULATE MAP_PRIVATE MAP_SHARED "
    "PROT_EXEC PROT_READ PROT_WRITE",
    "time": "CLOCK_MONOTONIC CLOCK_PROCESS_CPUTIME_ID CLOCK_THREAD_CPUTIME_ID clock_gettime clock_gettime_ns tzset",
    "sys": "abiflags getdlopenflags setdlopenflags",
}
"""By module what Python 3.13 for Windows has not: dir() of both, compared under Wine."""

PROGRAM = f"""
import sys
# what is others' is loaded first: they know where they are
import asyncio, ctypes.util, http.server, importlib, logging.handlers, multiprocessing.pool, multiprocessing.shared_memory
import multiprocessing.resource_tracker, multiprocessing.resource_sharer, pkgutil, pydoc, shutil, ssl, subprocess, tempfile
import tarfile, unittest, venv, webbrowser, xml.etree.ElementTree, zipfile
import numpy, numpy.testing, onnx.checker, onnx.shape_inference, onnx.version_converter, onnx.reference, onnxruntime
import rich.progress, rich.table, typer.testing, rich.markdown

for module, names in {NAMES!r}.items():
    for name in names.split():
        if hasattr(sys.modules[module], name):  # Linux with musl has not all either
            delattr(sys.modules[module], name)
sys.modules.update(dict.fromkeys({MODULES!r}.split()))
sys.platform = "win32"

import bridge, converters, hybrid
others = []
for package in (hybrid, converters, bridge):
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if found.name.endswith("__main__") or found.name.startswith("hybrid.native._"):
            continue
        try:
            importlib.import_module(found.name)
        except ModuleNotFoundError as error:  # a dependency that one may do without
            others.append(error.name)
for package in (hybrid, converters, bridge):
    for name in package.__all__ if hasattr(package, "__all__") else dir(package):
        getattr(package, name)
assert not {{*others}} & {{*sys.stdlib_module_names}}, others
assert not any(str(n).split(".")[0] in ("hybrid", "converters", "bridge") for n in others), others
assert hybrid.native.level() is None  # whose name would end in .dll

x = hybrid.sym.Variable("data")
net = hybrid.sym.Convolution(x, num_filter=4, kernel=(3, 3), pad=(1, 1), name="conv")
net = hybrid.sym.BatchNorm(net, fix_gamma=False, name="bn")
net = hybrid.sym.softmax(hybrid.sym.FullyConnected(hybrid.sym.relu(net), num_hidden=3, name="fc"))
shapes, _, aux = net.infer_shape(data=(1, 2, 6, 6))
values = {{"arg:" + n: hybrid.nd.random.uniform(-1, 1, s) for n, s in zip(net.list_arguments(), shapes) if n != "data"}}
values |= {{"aux:" + n: hybrid.nd.random.uniform(0.5, 1, s) for n, s in zip(net.list_auxiliary_states(), aux)}}
net.save("net-symbol.json")
hybrid.nd.save("net-0000.params", values)

result = bridge.convert("net", inputs={{"data": (1, 2, 6, 6)}}, output="net.onnx")
assert result.verification is not None and result.verification.equivalent
assert bridge.verify("net", "net.onnx", inputs={{"data": (1, 2, 6, 6)}}).equivalent

from bridge.cli import main

sys.argv = ["gluonnx", "verify", "net", "net.onnx", "--input", "data:1,2,6,6"]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code

x = hybrid.nd.ones((2, 3))
x.attach_grad()
with hybrid.autograd.record():
    loss = (x * x).sum()
loss.backward()
assert (x.grad.asnumpy() == 2).all()
data = hybrid.gluon.data.DataLoader(hybrid.gluon.data.ArrayDataset(numpy.arange(8.0)), batch_size=4)
assert [float(b.sum().asscalar()) for b in data] == [6.0, 22.0]
print("all of it")
"""


def test_where_the_modules_of_posix_are_not(tmp_path: Path) -> None:
    """Everything imports, converts and verifies with no module, function or signal that Windows lacks; in this process the compiled
    part is not found, as its files are named otherwise there."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM]
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, encoding="utf-8")
    assert ended.returncode == 0, ended.stderr[-4000:]
    assert ended.stdout.splitlines()[-1] == "all of it"
