"""Pictures of what users see, in docs/pictures: README, report, terminal and site, each made anew of what there is.

``python -m tests.site.screens BROWSER [NAME ...]``, BROWSER being a Chromium without a window (chromium-headless-shell), in an
environment with ``pip install '.[docs,test]'``; NAMEs are those of the files. The site is that of ``python -m mkdocs build``."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from rich.console import Console

import bridge
import hybrid as mx
from bridge import report
from bridge.faces.blocks import Page
from bridge.faces.text import PLAIN, render
from converters.forms import Forms
from hybrid.formats.files import write

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "pictures"
SITE = ROOT / "build" / "site"
COLOURS = 96
WIDE = 100
"""Characters of a line on the terminal."""
FONT = re.compile(r"\s*@font-face \{.*?\}\n", re.DOTALL)
NAMED = re.compile(r"Fira Code, monospace")
SHEET = """
body { font: 15px/1.5 "DejaVu Sans", sans-serif; color: #1f2328; max-width: 860px; margin: 0 auto; padding: 24px; }
h1, h2 { border-bottom: 1px solid #d1d9e0; padding-bottom: 0.3em; } a { color: #0969da; text-decoration: none; }
pre { background: #f6f8fa; padding: 12px; border-radius: 6px; overflow: hidden; font-size: 13px; }
code { font-family: "DejaVu Sans Mono", monospace; font-size: 85%; } pre code { font-size: 100%; }
:not(pre) > code { background: #eff1f3; padding: 0.15em 0.35em; border-radius: 6px; }
table { border-collapse: collapse; } th, td { border: 1px solid #d1d9e0; padding: 5px 11px; } img { vertical-align: top; }
"""


@cache
def work() -> Path:
    """A folder for what pictures are made of: a network of MXNet, and an ONNX file of it with two faults."""
    folder = Path(tempfile.mkdtemp())
    mx.random.seed(7)
    net = mx.gluon.model_zoo.vision.resnet18_v1(prefix="resnetv10_")
    net.initialize(mx.init.Xavier())
    net.hybridize()
    net(mx.nd.zeros(SHAPE))
    net.export(str(folder / "resnet"))
    kept = Forms(keep_graph=True)  # with its normalizations, of which one gets another epsilon
    bridge.convert(folder / "resnet", output=folder / "resnet.onnx", inputs={"data": SHAPE}, forms=kept)
    model = onnx.load(folder / "resnet.onnx")
    weights = next(t for t in model.graph.initializer if t.name.endswith("stage2_conv1_weight"))
    values = numpy_helper.to_array(weights).copy()
    values[9] *= 1.05
    weights.CopyFrom(numpy_helper.from_array(values, weights.name))
    norm = [n for n in model.graph.node if n.op_type == "BatchNormalization"][-1]
    next(a for a in norm.attribute if a.name == "epsilon").f = 0.01
    onnx.save(model, folder / "model_v2.onnx")
    return folder


SHAPE = (2, 3, 64, 64)


@cache
def verified() -> Page:
    """Text that ``gluonnx verify`` prints of the two."""
    os.chdir(work())  # so that names are those that a user sees
    np.savez("faces.npz", data=np.random.default_rng(0).normal(size=SHAPE).astype(np.float32))
    return report.verify_table(bridge.verify("resnet", "model_v2.onnx", inputs="faces.npz"))


def converted() -> Page:
    """Text that ``gluonnx convert`` prints of the first."""
    os.chdir(work())
    return report.convert_brief(bridge.convert("resnet", output="resnet.onnx", inputs={"data": SHAPE}))


def terminal(command: str, page: Page) -> str:
    """A command and what it prints, as SVG that fetches nothing."""
    console = Console(record=True, width=WIDE, file=io.StringIO(), force_terminal=True, legacy_windows=False, **PLAIN)
    console.print(f"$ {command}", style="bold")
    console.print(render(page))
    said = console.export_svg(title="", unique_id="terminal")
    return NAMED.sub("ui-monospace, Menlo, Consolas, DejaVu Sans Mono, monospace", FONT.sub("\n", said))


def photograph(browser: str, address: str, name: str, width: int, height: int, *options: str) -> None:
    """A page as the browser shows it, in few colours."""
    from PIL import Image

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.png"
        settings = ["--headless", "--no-sandbox", "--hide-scrollbars", "--virtual-time-budget=15000", *options]
        subprocess.run(
            [browser, *settings, f"--window-size={width},{height}", f"--screenshot={file}", address],
            check=True,
            capture_output=True,
            timeout=300,
        )
        few, saved = Image.open(file).convert("RGB").quantize(COLOURS), io.BytesIO()
        few.save(saved, "PNG", optimize=True)
    write(FOLDER / name, saved.getvalue())


DARK = "--blink-settings=preferredColorScheme=0"


def of_report(browser: str, name: str, width: int, height: int, *options: str) -> None:
    file = work() / "report.html"
    if not file.is_file():
        report.save(verified(), file, "gluonnx verify resnet model_v2.onnx --inputs faces.npz")
    photograph(browser, file.as_uri(), name, width, height, *options)


def of_readme(browser: str, name: str) -> None:
    """The README as Markdown makes it, in a plain stylesheet of ours."""
    import markdown  # what mkdocs is made on

    told = markdown.markdown((ROOT / "README.md").read_text(encoding="utf-8"), extensions=["tables", "fenced_code"])
    head = f'<meta charset="utf-8"><base href="{ROOT.as_uri()}/"><style>{SHEET}</style>'
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "readme.html"
        file.write_text(f"<!doctype html>{head}{told}", encoding="utf-8")
        photograph(browser, file.as_uri(), name, 920, 1500)


def of_site(browser: str, name: str, page: str, width: int, height: int) -> None:
    path, _, query = page.partition("?")
    if not (SITE / path).is_file():
        raise SystemExit(f"{SITE / path} is not there; run python -m mkdocs build --strict")
    photograph(browser, f"{(SITE / path).as_uri()}?{query}", name, width, height)


VERIFY = "gluonnx verify resnet model_v2.onnx --inputs faces.npz"
CONVERT = "gluonnx convert resnet -o resnet.onnx --input data:2,3,64,64"
SCREENS: dict[str, Callable[[str], None]] = {
    "convert.svg": lambda _: write(FOLDER / "convert.svg", terminal(CONVERT, converted())),
    "verify.svg": lambda _: write(FOLDER / "verify.svg", terminal(VERIFY, verified())),
    "report-desktop.png": lambda browser: of_report(browser, "report-desktop.png", 1200, 1700),
    "report-phone.png": lambda browser: of_report(browser, "report-phone.png", 390, 1700, DARK),
    "readme.png": lambda browser: of_readme(browser, "readme.png"),
    "site-desktop.png": lambda b: of_site(b, "site-desktop.png", "index.html?q=deconvolution", 1280, 800),
    "site-phone.png": lambda b: of_site(b, "site-phone.png", "troubleshooting.html?filter=opset", 400, 800),
}

if __name__ == "__main__":
    for file in sys.argv[2:] or SCREENS:
        SCREENS[file](sys.argv[1])
