"""The drawing of a chain: boxes in columns, and lines from each pipeline to those that read it."""

from __future__ import annotations

from dataclasses import dataclass

from tidemill.reporting.chain_graph import ChainGraph

# A letter, as wide as the widest usual one in the font of the page.
LETTER, PADDING = 8, 12
HEIGHT, GAP, BETWEEN = 28, 12, 48


@dataclass(frozen=True)
class Box:
    """A pipeline, by the upper left corner of its box."""

    name: str
    x: int
    y: int
    width: int


@dataclass(frozen=True)
class Drawing:
    """A chain as the parts of an inline SVG.

    Attributes:
        label: The same as text.
        lines: Their ends: x and y of the first, x and y of the second.
    """

    label: str
    width: int
    height: int
    boxes: tuple[Box, ...]
    lines: tuple[tuple[int, int, int, int], ...]


def drawing(graph: ChainGraph) -> Drawing:
    """Draw a chain from left to right."""
    boxes: dict[str, Box] = {}
    x = 1
    for layer in graph.layers:
        width = max(map(len, layer)) * LETTER + 2 * PADDING
        for place, name in enumerate(layer):
            boxes[name] = Box(name, x, 1 + place * (HEIGHT + GAP), width)
        x += width + BETWEEN
    lines = []
    for name, reader in graph.edges:
        one, other = boxes[name], boxes[reader]
        lines.append((one.x + one.width, one.y + HEIGHT // 2, other.x, other.y + HEIGHT // 2))
    rows = max(map(len, graph.layers))
    return Drawing(
        label=f"Chain. {graph.sentences}",
        width=x - BETWEEN + 1,
        height=rows * (HEIGHT + GAP) - GAP + 2,
        boxes=tuple(boxes.values()),
        lines=tuple(lines),
    )
