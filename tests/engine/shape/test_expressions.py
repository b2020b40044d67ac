"""An expression has the same text however Spark numbers and names the columns on the way.

These plans are stand-ins for those of Catalyst; plans that Spark analysed are compared in
`tests/compatibility`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from tidemill.engine.shape.expressions import INPUT, LONGEST, Texts, shortened


class Seq(list[Any]):
    """A Scala sequence."""

    def apply(self, position: int) -> Any:
        return self[position]

    def size(self) -> int:
        return len(self)

    def isEmpty(self) -> bool:  # noqa: N802
        return not self

    def toSeq(self) -> Seq:  # noqa: N802
        return self


@dataclass
class Node:
    """A node of a plan or an expression: its class, its text, and what it answers."""

    kind: str
    text: str = ""
    answers: dict[str, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        answers = self.__dict__["answers"]
        if name not in answers:
            raise AttributeError(name)
        return lambda: answers[name]

    def getClass(self) -> Node:  # noqa: N802
        return self

    def getSimpleName(self) -> str:  # noqa: N802
        return self.kind

    def toString(self) -> str:  # noqa: N802
        return self.text


def attribute(name: str, identity: int, source: str = "") -> Node:
    metadata = Node("Metadata", answers={"json": json.dumps({INPUT: source} if source else {})})
    answers = {
        "name": name,
        "exprId": Node("ExprId", answers={"id": identity}),
        "metadata": metadata,
    }
    found = Node("AttributeReference", f"{name}#{identity}", answers)
    answers["references"] = Seq([found])
    return found


def expression(text: str, *columns: Node) -> Node:
    return Node("Expression", text, {"references": Seq(columns)})


def alias(child: Node, name: str, identity: int) -> Node:
    answers = {"exprId": Node("ExprId", answers={"id": identity}), "child": child}
    answers["references"] = child.references()
    return Node("Alias", f"{child.text} AS {name}#{identity}", answers)


def plan(kind: str, children: Sequence[Node] = (), **answers: Sequence[Node]) -> Node:
    given = {name: Seq(nodes) for name, nodes in answers.items()}
    return Node(kind, answers={"children": Seq(children), **given})


def scan(*columns: Node) -> Node:
    return plan("StreamingRelation", output=columns)


def learnt(top: Node) -> Texts:
    texts = Texts()
    for _ in texts.walk(top):
        pass
    return texts


PRICE, COUNT = attribute("price", 1, "orders"), attribute("count", 2, "orders")


def test_a_column_is_told_by_its_input_and_name_and_not_by_its_id() -> None:
    texts = learnt(scan(PRICE, COUNT))
    assert texts.of(expression("(price#1 * count#2L)", PRICE, COUNT)) == (
        "(orders.price * orders.count)"
    )
    assert texts.columns(expression("", PRICE, COUNT)) == ("orders.count", "orders.price")


def test_what_a_projection_names_is_told_by_what_it_is_made_of() -> None:
    total = alias(expression("(price#1 * count#2)", PRICE, COUNT), "total", 9)
    texts = learnt(plan("Project", [scan(PRICE, COUNT)], projectList=[total]))
    taxed = expression("(total#9 * 2)", attribute("total", 9))
    assert texts.of(taxed) == "((orders.price * orders.count) * 2)"
    assert texts.columns(taxed) == ("orders.count", "orders.price")


def test_a_column_whose_id_begins_alike_is_another() -> None:
    texts = learnt(scan(attribute("price", 1, "orders"), attribute("price", 12, "offers")))
    both = [attribute("price", 1), attribute("price", 12)]
    assert texts.of(expression("(price#12 - price#1)", *both)) == "(offers.price - orders.price)"


def test_a_watermarked_column_is_the_column() -> None:
    texts = learnt(scan(PRICE))
    assert texts.of(expression("max(price#1-T10000ms)", PRICE)) == "max(orders.price)"


def test_variables_of_lambdas_are_numbered_by_their_place() -> None:
    first = "transform(price#1, lambda x_7#40, lambda y_8#41, (x + y))"
    again = first.replace("x_7#40", "x_90#640").replace("y_8#41", "y_91#641")
    texts = learnt(scan(PRICE))
    assert texts.of(expression(first, PRICE)) == texts.of(expression(again, PRICE))
    swapped = first.replace("lambda x_7#40, lambda y_8#41", "lambda y_8#41, lambda x_7#40")
    assert texts.of(expression(swapped, PRICE)) != texts.of(expression(first, PRICE))


def bucket(width: int, slide: int) -> str:
    time = "precisetimestampconversion(price#1, TimestampType, LongType)"
    start = f"({time} - (({time} - 0) % {slide}))"
    ends = [f"precisetimestampconversion({one}, LongType, TimestampType)" for one in (start, "")]
    end = ends[0].replace(start, f"({start} + {width})")
    return f"named_struct(start, {ends[0]}, end, {end})"


@pytest.mark.parametrize(
    ("width", "slide", "said"),
    [(10_000_000, 10_000_000, "10 s"), (10_000_000, 2_500_000, "10 s, 2.5 s")],
)
def test_a_window_is_told_by_its_time_width_and_slide(width: int, slide: int, said: str) -> None:
    texts = learnt(scan(PRICE))
    found = texts.of(expression(bucket(width, slide), PRICE))
    assert found.startswith(f"window(orders.price, {said}) ")


def test_windows_that_differ_in_something_else_have_other_hashes() -> None:
    texts = learnt(scan(PRICE))
    moved = bucket(10_000_000, 10_000_000).replace("- 0)", "- 5)")
    assert texts.of(expression(moved, PRICE)) != texts.of(
        expression(bucket(10_000_000, 10_000_000), PRICE)
    )


def union(*names: str) -> tuple[Texts, Node]:
    sides = [attribute("id", number, name) for number, name in enumerate(names, 1)]
    out = attribute("id", 99)
    children = [scan(one) for one in sides]
    return learnt(plan("Union", children, output=[out])), out


def test_a_column_that_all_inputs_of_a_union_have_is_one() -> None:
    texts, out = union("paper", "web")
    assert texts.of(out) == "*.id"
    assert texts.columns(out) == ("paper.id", "web.id")


def test_the_order_of_a_unions_inputs_makes_no_difference() -> None:
    columns = [attribute("id", 1, "web"), attribute("key", 2, "paper")]
    texts = [
        learnt(plan("Union", [scan(one) for one in order], output=[attribute("id", 99)]))
        for order in (columns, columns[::-1])
    ]
    out = attribute("id", 99)
    assert [one.of(out) for one in texts] == ["union(*.id, *.key)"] * 2


def test_what_another_node_gives_out_is_told_by_the_node_and_what_it_computes() -> None:
    word = attribute("word", 5)
    generate = plan(
        "Generate",
        [scan(PRICE)],
        output=[PRICE, word],
        expressions=[expression("explode(price#1)", PRICE)],
    )
    texts = learnt(generate)
    assert texts.of(word) == "Generate(explode(orders.price)).word"
    assert texts.of(PRICE) == "orders.price"


def test_a_long_text_keeps_its_beginning_and_is_told_apart_by_its_end() -> None:
    assert shortened("x" * LONGEST) == "x" * LONGEST
    one, other = (shortened("x" * LONGEST + end) for end in "ab")
    assert one != other
    assert one[:50] == other[:50] == "x" * 50
    assert len(one) < LONGEST
