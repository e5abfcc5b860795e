"""Every file is written through hybrid/formats/files.py: nothing else opens one for writing, renames or copies one."""

import ast

import pytest

from tests.house.source import sources

HOME = "hybrid.formats.files"
METHODS = frozenset(
    (
        *(
            "write_text",
            "write_bytes",
            "tofile",
            "savetxt",
            "savez",
            "savez_compressed",
            "extractall",
            "extract",
            "touch",
        ),
        *("mkstemp", "NamedTemporaryFile", "SpooledTemporaryFile", "memmap", "save_model", "save_external_data"),
        *("copyfile", "copy2", "copytree", "ftruncate", "FileHandler"),
    )
)
OF_MODULES = frozenset(
    (
        *(("os", name) for name in ("replace", "rename", "renames", "open", "fdopen", "truncate", "link", "symlink")),
        *(("shutil", name) for name in ("move", "copy")),
        *((module, name) for module in ("np", "numpy") for name in ("save",)),
        *(("onnx", name) for name in ("save",)),
    )
)
EXCEPT = {
    ("bridge.many.child", "os.fdopen(os.dup(1), 'w', encoding='utf-8')"): "a pipe to the process that asks",
    ("hybrid.core.unread", "os.open(os.devnull, os.O_WRONLY)"): "nothing is kept there",
    ("hybrid.resuming.training", "np.savez(buffer, **arrays)"): "bytes in memory, which hybrid/formats/files.py writes",
    ("hybrid.gluon.data.workers", "os.fdopen(handle, 'wb')"): "memory shared between processes, which is no file",
    ("hybrid.test_utils.surroundings", "open(os.devnull, 'w', encoding='utf-8')"): "nothing is kept there",
    ("bridge.runtime", "os.open(os.devnull, os.O_RDWR)"): "nothing is kept there",
    (
        "bridge.command.shell",
        "tempfile.NamedTemporaryFile('w', prefix='gluonnx-', suffix='.txt', delete=False, encoding='utf-8')",
    ): ("a report of a fault under a name that no file has, which replaces nothing"),
    ("bridge.archives", "opened.open(entry)"): "a member of an archive, to be read",
    (
        "bridge.archives",
        "tarfile.open(fileobj=file, mode='r|gz' if compressed else 'r|', tarinfo=_Member)",
    ): "an archive, to be read",
    ("bridge.inputs", "zipfile.ZipFile(file, 'w')"): "an archive in a file that it is given",
    ("bridge.serving.packing", "zipfile.ZipFile(file, 'w')"): "an archive in a file that it is given",
    ("bridge.serving.packing", "archive.open(info, 'w')"): "a member of that archive",
    (
        "bridge.serving.packing",
        "gzip.GzipFile('', 'wb', fileobj=file, mtime=0)",
    ): "an archive in a file that it is given",
    ("bridge.serving.packing", "tarfile.open(fileobj=packed, mode='w')"): "the same",
    ("bridge.inputs", "archive.open(f'{name}.npy', 'w', force_zip64=True)"): "a member of that archive",
    ("bridge.inputs", "archive.open(entry)"): "a member of an archive, to be read",
    ("bridge.recorded", "archive.open(entry)"): "a member of an archive, to be read",
    ("hybrid.formats.downloads", "opened.open(member)"): "a member of an archive, to be read",
    (
        "hybrid.formats.downloads",
        "opener.open(Request(url, headers={'User-Agent': 'gluonnx'}), timeout=_PATIENCE)",
    ): "an address, to be read",
    ("bridge.scripts.record_with_mxnet", "np.savez(arguments.output, **members)"): (
        "a program for machines that have nothing of this package"
    ),
    ("bridge.scripts.run_on_target", "np.savez(places['out'], *map(np.asarray, found))"): (
        "a program for interpreters that have nothing of this package"
    ),
    ("bridge.scripts.run_on_target", "extractor.extract(f'out{number}')"): "a tensor of ncnn, which is no file",
    ("bridge.scripts.run_on_target", "os.fdopen(os.dup(1), 'w')"): "standard output, where answers go",
    ("hybrid.log", "logging.FileHandler(filename, filemode or 'a')"): "a log grows line by line while a program runs",
    ("hybrid.gluon.utils", "os.replace(src, dst)"): "replace_file of MXNet, which is given a finished file",
}


def writes(tree: ast.AST) -> list[str]:
    """The calls in a program that may write a file."""
    return [ast.unparse(call) for call in ast.walk(tree) if isinstance(call, ast.Call) and _writes(call)]


def _writes(call: ast.Call) -> bool:
    function = call.func
    name = (
        function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""
    )
    owner = ast.unparse(function.value) if isinstance(function, ast.Attribute) else ""
    if name in METHODS or (owner, name) in OF_MODULES:
        return True
    if name not in ("open", "fdopen", "ZipFile", "TarFile", "GzipFile", "BZ2File"):
        return False
    first = 0 if owner and not isinstance(function, ast.Name) and owner not in MODULES else 1
    modes = [*call.args[first : first + 1], *(k.value for k in call.keywords if k.arg in ("mode", "flags"))]
    return any(not isinstance(mode, ast.Constant) or set("wax+") & set(str(mode.value)) for mode in modes)


MODULES = ("io", "gzip", "bz2", "lzma", "zipfile", "tarfile", "codecs", "builtins", "os", "images")
"""Modules whose open takes a file first and the mode after it; the open of an object takes the mode first."""


def test_no_other_place_writes_files() -> None:
    found = {(".".join(s.module), call) for s in sources() for call in writes(s.tree) if ".".join(s.module) != HOME}
    assert not found - set(EXCEPT), "write through hybrid/formats/files.py: " + "\n".join(
        map(str, sorted(found - set(EXCEPT)))
    )
    assert not set(EXCEPT) - found, "exceptions that are none any more"


@pytest.mark.parametrize(
    "planted",
    [
        "open(path, 'wb')",
        "open(path, mode='a')",
        "open(path, self.flag + 'b')",
        "io.open(path, 'r+')",
        "gzip.open(path, 'wt')",
        "path.open('w')",
        "Path(path).write_text(text)",
        "np.savez(path, a)",
        "onnx.save(model, path)",
        "os.replace(a, b)",
        "shutil.move(a, b)",
        "zipfile.ZipFile(path, 'w')",
    ],
)
def test_the_test_sees(planted: str) -> None:
    assert writes(ast.parse(planted)) == [planted]


@pytest.mark.parametrize(
    "planted", ["open(path)", "open(path, 'rb')", "gzip.open(path, 'rb')", "self.open()", "text.replace(a, b)"]
)
def test_the_test_lets_reading_pass(planted: str) -> None:
    assert writes(ast.parse(planted)) == []
