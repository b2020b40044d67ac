"""The size of a YAML document with every alias expanded.

A few hundred bytes of aliases that name lists of aliases spell out to more than any memory holds,
and a spec is read by every process that parses DAG files.
"""

import yaml

# The longest spec anybody wrote has some hundred nodes.
MOST_NODES = 50_000


def first_too_large(root: yaml.Node) -> yaml.Node | None:
    """The first collection that spells out to more than `MOST_NODES` or contains itself, or None.

    Args:
        root: As composed; in time that grows with the text, as no alias is followed twice.
    """
    sizes: dict[int, int] = {}

    def spelled_out(node: yaml.Node) -> yaml.Node | None:
        # Not known yet while what is in it is looked at, so that none may contain itself.
        sizes[id(node)] = MOST_NODES + 1
        total = 1
        for inner in _within(node):
            if id(inner) not in sizes and (too_large := spelled_out(inner)) is not None:
                return too_large
            total += sizes[id(inner)]
        sizes[id(node)] = total
        return node if total > MOST_NODES else None

    return spelled_out(root)


def _within(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []
