"""Symbols and blocks as notebooks show them."""

import re
from html.parser import HTMLParser

import hybrid as mx
from hybrid.core.html import MOST, table
from hybrid.gluon import nn


def balanced(text: str) -> None:
    """Every element that opens closes."""
    waiting: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            waiting.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert waiting.pop() == tag

    Reader().feed(text)
    assert not waiting


def test_a_symbol_is_a_table_of_its_nodes() -> None:
    symbol = mx.sym.FullyConnected(mx.sym.var("<data>"), num_hidden=4, name="fc")
    shown = symbol._repr_html_()
    balanced(shown)
    assert "<td" in shown and "&lt;data&gt;" in shown and "<data>" not in shown
    assert "4 nodes -&gt; fc_output" in shown and "num_hidden=4" in shown


def test_a_block_is_a_tree_of_its_children() -> None:
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, in_channels=2), nn.HybridSequential(), nn.Dense(5))
    net[1].add(nn.Dense(3, in_units=2, use_bias=False))
    net.initialize()
    shown = net._repr_html_()
    balanced(shown)
    assert shown.count("<details") == 5
    assert "HybridSequential, 87 parameters and some of sizes not yet known" in shown
    assert "weight (4, 2, 3, 3)" in shown and "(1) HybridSequential, 6 parameters" in shown


def test_long_tables_are_cut_in_the_middle() -> None:
    shown = table("numbers", ["n"], [[i] for i in range(100)])
    balanced(shown)
    numbers = [int(n) for n in re.findall(r">(\d+)</td>", shown)]
    assert numbers == [*range(MOST // 2), *range(100 - MOST // 2, 100)]
    assert f"... {100 - MOST} more ..." in shown
