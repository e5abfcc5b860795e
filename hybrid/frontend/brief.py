"""Drawings of deep networks made short enough to be read: layers as one box, equal blocks in a row once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .drawing import LAYER, Box, Drawing, Edge

SINGLY = 60
"""Boxes of the largest drawing that needs nothing of this."""
PERIOD = 64
"""Stretches of the longest block of which copies are looked for."""
Looks = tuple[object, ...]


def briefly(drawing: Drawing) -> Drawing:
    """The drawing with each layer and what follows it in a row as one box, and equal blocks in a row drawn once. Where that is
    still more than SINGLY boxes, all that stands in a row is one box."""
    made = once(in_runs(drawing, by_layer=True))
    return made if len(made.boxes) <= SINGLY else once(in_runs(drawing))


def in_runs(drawing: Drawing, by_layer: bool = False) -> Drawing:
    """The drawing with each run of boxes, of which each gives to the next alone, as one box; its title lists them. by_layer: a
    run ends before an operator that begins a layer."""
    givers: dict[str, list[str]] = {name: [] for name in drawing.boxes}
    takers: dict[str, list[str]] = {name: [] for name in drawing.boxes}
    for giver, taker, _ in drawing.edges:
        givers[taker].append(giver)
        takers[giver].append(taker)

    def joined(giver: str, taker: str) -> bool:
        inputs = any(_is_input(drawing.boxes[name]) for name in (giver, taker))
        begins = by_layer and drawing.kinds.get(taker, ("",))[0] == LAYER
        return not inputs and not begins and takers[giver] == [taker] and givers[taker] == [giver]

    made = Drawing(drawing.name)
    of: dict[str, str] = {}
    for name, box in drawing.boxes.items():
        if len(givers[name]) == 1 and joined(givers[name][0], name):
            continue  # it is not the first of its run
        run = [name]
        while takers[run[-1]] and joined(run[-1], takers[run[-1]][0]):
            run.append(takers[run[-1]][0])
        of |= dict.fromkeys(run, name)
        labels = [drawing.boxes[n].label.split("\n") for n in run]
        head = f"{labels[0][0]} ... {labels[-1][0]}" if len(run) > 2 else ", ".join(label[0] for label in labels)
        size = f"{len(run)} operators"
        if by_layer and labels[0][1:] not in ([], [name]):
            size = labels[0][1]  # what tells the layer from others, such as its kernel
        told = "\n".join([head, size, *map(" ".join, labels)])
        made.node(name, box.label if len(run) == 1 else told, **box.attributes)
        if all(n in drawing.kinds for n in run):
            made.kinds[name] = tuple(word for n in run for word in drawing.kinds[n])
    for giver, taker, label in drawing.edges:
        if of[giver] != of[taker]:
            made.edge(of[taker], of[giver], label)
    return made


def once(drawing: Drawing) -> Drawing:
    """The drawing with the copies of a block that follow it as one box, which says how many they are; its title lists what is in
    them. Looked for where boxes are in an order in which what gives comes before what takes."""
    stretches = list(_stretches(drawing))
    looks = _looks(drawing, stretches)
    more: dict[str, Box] = {}
    of: dict[str, str] = {}
    for first, period, times in _repeats(looks, [len(s) for s in stretches]):
        hidden = [name for s in stretches[first + period : first + period * times] for name in s]
        of |= dict.fromkeys(hidden, hidden[0])
        count = sum(len(s) for s in stretches[first : first + period])
        head = f"{count} above, {'once' if times == 2 else f'{times - 1} times'} more"
        inside = [" ".join(drawing.boxes[name].label.split("\n")) for name in hidden]
        style = {**drawing.boxes[hidden[0]].attributes, "fillcolor": "#ffffff", "style": "filled,dashed"}
        more[hidden[0]] = Box("\n".join([head, f"up to {hidden[-1]}", *inside]), style)
    made = Drawing(drawing.name)
    made.kinds = {name: kind for name, kind in drawing.kinds.items() if name not in of}
    made.boxes = {name: more.get(name, box) for name, box in drawing.boxes.items() if of.get(name, name) == name}
    for edge in drawing.edges:
        short = Edge(of.get(edge.giver, edge.giver), of.get(edge.taker, edge.taker), edge.label)
        if short == edge or (short.giver != short.taker and short not in made.edges):
            made.edges.append(short)
    return made


def _is_input(box: Box) -> bool:
    return box.attributes.get("shape") == "oval"


def _far(drawing: Drawing, place: dict[str, int]) -> set[str]:
    """Inputs, and what is read far behind its place, such as a mask that all layers take: they hang together with no block."""
    last = {giver: 0 for giver, _, _ in drawing.edges}
    for giver, taker, _ in drawing.edges:
        last[giver] = max(last[giver], place.get(taker, 0))
    return {name for name, end in last.items() if name not in place or end - place[name] > len(place) // 2}


def _stretches(drawing: Drawing) -> Iterator[list[str]]:
    """The boxes that are no inputs, cut behind each through which everything goes that comes from before it."""
    order = [name for name, box in drawing.boxes.items() if not _is_input(box)]
    place = {name: i for i, name in enumerate(order)}
    if any(place.get(giver, -1) >= place.get(taker, -1) for giver, taker, _ in drawing.edges):
        return
    far = _far(drawing, place)
    last: dict[str, int] = {}
    for giver, taker, _ in drawing.edges:
        if giver not in far:
            last[giver] = max(last.get(giver, 0), place[taker])
    reach, stretch = 0, []
    for i, name in enumerate(order):
        stretch.append(name)
        if reach <= i:
            yield stretch
            stretch = []
        reach = max(reach, last.get(name, 0))
    if stretch:
        yield stretch


def _looks(drawing: Drawing, stretches: Sequence[Sequence[str]]) -> list[Looks]:
    """Looks of each stretch: what its boxes are and take. What something far behind reads, and what nothing reads, looks like
    nothing else, so that it is always drawn."""
    order = [name for stretch in stretches for name in stretch]
    far = _far(drawing, {name: i for i, name in enumerate(order)})
    takes: dict[str, list[tuple[str, str]]] = {name: [] for name in drawing.boxes}
    for giver, taker, label in drawing.edges:
        takes[taker].append((giver, label))
    read = {giver for giver, _, _ in drawing.edges}
    found: list[Looks] = []
    for stretch in stretches:
        inside = {name: str(i) for i, name in enumerate(stretch)}
        boxes = []
        for name in stretch:
            kind = drawing.kinds.get(name, (name,)) if name in read and name not in far else (name,)
            taken = [(inside.get(giver, giver if giver in far else "before"), label) for giver, label in takes[name]]
            boxes.append((kind, tuple(taken)))
        found.append(tuple(boxes))
    return found


def _repeats(looks: Sequence[Looks], sizes: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Blocks that others like them follow: where the first begins, its length in stretches and how often it is there. At each
    place the one that saves most boxes, and none that saves less than it adds."""
    known: dict[Looks, int] = {}
    kinds = [known.setdefault(look, len(known)) for look in looks]
    start = 0
    while start < len(kinds):
        best = (1, 0, 0)
        for period in range(1, min(PERIOD, (len(kinds) - start) // 2) + 1):
            block, times = kinds[start : start + period], 1
            while kinds[start + period * times : start + period * (times + 1)] == block:
                times += 1
            saved = (times - 1) * sum(sizes[start : start + period])
            if saved > best[0]:
                best = (saved, period, times)
        _, period, times = best
        if times:
            yield start, period, times
        start += max(1, period * times)
