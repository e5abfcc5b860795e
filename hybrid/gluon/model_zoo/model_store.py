"""Folder of the parameters of pretrained networks. What is not there comes from the mirror that the user names, if any."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...base import data_dir
from ...core.error import FormatError
from ...formats import downloads
from ...formats.files import move, scratch
from ..utils import check_sha1

__all__ = ["get_model_file", "purge"]

ROOT = str(Path(data_dir(), "models"))

_model_sha1 = {
    "alexnet": "44335d1f0046b328243b32a26a4fbd62d9057b45",
    "densenet121": "f27dbf2dbd5ce9a80b102d89c7483342cd33cb31",
    "densenet161": "b6c8a95717e3e761bd88d145f4d0a214aaa515dc",
    "densenet169": "2603f878403c6aa5a71a124c4a3307143d6820e9",
    "densenet201": "1cdbc116bc3a1b65832b18cf53e1cb8e7da017eb",
    "inceptionv3": "ed47ec45a937b656fcc94dabde85495bbef5ba1f",
    "mobilenet0.25": "9f83e440996887baf91a6aff1cccc1c903a64274",
    "mobilenet0.5": "8e9d539cc66aa5efa71c4b6af983b936ab8701c3",
    "mobilenet0.75": "529b2c7f4934e6cb851155b22c96c9ab0a7c4dc2",
    "mobilenet1.0": "6b8c5106c730e8750bcd82ceb75220a3351157cd",
    "mobilenetv2_1.0": "36da4ff1867abccd32b29592d79fc753bca5a215",
    "mobilenetv2_0.75": "e2be7b72a79fe4a750d1dd415afedf01c3ea818d",
    "mobilenetv2_0.5": "aabd26cd335379fcb72ae6c8fac45a70eab11785",
    "mobilenetv2_0.25": "ae8f9392789b04822cbb1d98c27283fc5f8aa0a7",
    "resnet18_v1": "a0666292f0a30ff61f857b0b66efc0228eb6a54b",
    "resnet34_v1": "48216ba99a8b1005d75c0f3a0c422301a0473233",
    "resnet50_v1": "0aee57f96768c0a2d5b23a6ec91eb08dfb0a45ce",
    "resnet101_v1": "d988c13d6159779e907140a638c56f229634cb02",
    "resnet152_v1": "671c637a14387ab9e2654eafd0d493d86b1c8579",
    "resnet18_v2": "a81db45fd7b7a2d12ab97cd88ef0a5ac48b8f657",
    "resnet34_v2": "9d6b80bbc35169de6b6edecffdd6047c56fdd322",
    "resnet50_v2": "ecdde35339c1aadbec4f547857078e734a76fb49",
    "resnet101_v2": "18e93e4f48947e002547f50eabbcc9c83e516aa6",
    "resnet152_v2": "f2695542de38cf7e71ed58f02893d82bb409415e",
    "squeezenet1.0": "264ba4970a0cc87a4f15c96e25246a1307caf523",
    "squeezenet1.1": "33ba0f93753c83d86e1eb397f38a667eaf2e9376",
    "vgg11": "dd221b160977f36a53f464cb54648d227c707a05",
    "vgg11_bn": "ee79a8098a91fbe05b7a973fed2017a6117723a8",
    "vgg13": "6bc5de58a05a5e2e7f493e2d75a580d83efde38c",
    "vgg13_bn": "7d97a06c3c7a1aecc88b6e7385c2b373a249e95e",
    "vgg16": "e660d4569ccb679ec68f1fd3cce07a387252a90a",
    "vgg16_bn": "7f01cf050d357127a73826045c245041b0df7363",
    "vgg19": "ad2f660d101905472b83590b59708b71ea22b2e5",
    "vgg19_bn": "f360b758e856f1074a85abd5fd873ed1d98297c3",
}
"""SHA-1 of the files that MXNet published, by the network's name. GluonNLP adds its own under this name of MXNet's."""


def short_hash(name: str) -> str:
    """The eight digits that the file of a network has in its name. Raises ValueError for an unknown network.

    Examples
    --------
    >>> from hybrid.gluon.model_zoo import model_store
    >>> model_store.short_hash("resnet18_v1")
    'a0666292'
    """
    if name not in _model_sha1:
        raise ValueError(f"Pretrained model for {name} is not available.")
    return _model_sha1[name][:8]


def get_model_file(name: str, root: str = ROOT) -> str:
    """The path of the parameters of a network, below root (``$MXNET_HOME/models``).

    What is not there, or not what MXNet published, is unpacked from ``gluon/models/NAME-HASH.zip`` of the mirror that the user
    names (MXNET_GLUON_REPO, see formats/downloads.py). Raises ValueError for an unknown network and for a file that is not the
    one that MXNet published, FileNotFoundError when there is none: it says which file to put where.

    Raises FormatError where files may not be fetched, or what is there is not what MXNet published.

    Examples
    --------
    >>> from hybrid.gluon.model_zoo import model_store
    >>> try:
    ...     model_store.get_model_file("alexnet", root="models")
    ... except FileNotFoundError as error:
    ...     print("alexnet-44335d1f.params" in str(error))
    True
    """
    file = Path(root).expanduser() / f"{name}-{short_hash(name)}.params"
    digest = _model_sha1[name]
    if file.exists():
        if check_sha1(file, digest):
            return str(file)
        if not downloads.has_mirror():
            raise FormatError(
                f"{file} is not the file that MXNet published (its SHA-1 is not {digest}); replace it, "
                f"or build the network with pretrained=False and load yours with load_parameters"
            )
    file.parent.mkdir(parents=True, exist_ok=True)
    with scratch(file.parent) as folder:
        archive = folder / f"{file.stem}.zip"
        url = f"{downloads.repository()}gluon/models/{archive.name}"
        missing = (
            f"pretrained parameters of {name} are not at {file} (SHA-1 {digest}; build the network with pretrained=False to "
            "load your own with load_parameters)"
        )
        downloads.obtain(url, str(archive), missing=missing)
        downloads.unpack(archive, folder)
        if not (folder / file.name).exists() or not check_sha1(folder / file.name, digest):
            raise FormatError(f"{url}: holds no {file.name} of the SHA-1 {digest}; it is not what MXNet published")
        move((folder / file.name, file))
    return str(file)


def purge(root: str = ROOT) -> None:
    """Delete all parameter files in root.

    Examples
    --------
    >>> from pathlib import Path
    >>> from hybrid.gluon.model_zoo import model_store
    >>> Path("models").mkdir()
    >>> Path("models/alexnet-44335d1f.params").touch()
    >>> model_store.purge("models")
    >>> list(Path("models").iterdir())
    []
    """
    for file in Path(root).expanduser().glob("*.params"):
        file.unlink()


def load_pretrained(net: Any, name: str, root: str, ctx: Any) -> None:
    """Give a network its published parameters; raises what get_model_file raises."""
    net.load_parameters(get_model_file(name, root=root), ctx=ctx)
