"""Expresses each expression of a plan by the input columns it is computed from.

Names in between, ids and how Spark has split a transform into nodes make no difference to it.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tidemill.engine.query.pipeline_class import OWN_STATE
from tidemill.engine.spark_internals.plan import items, kind

# The metadata of an input's columns that names the input.
INPUT = "tidemill.input"
# Longer texts end in a hash; windows are such.
LONGEST = 160
SHOWN = 100
# What `window` and `session_window` become.
BUCKETS = re.compile(r"\bnamed_struct\(start, .*?precisetimestampconversion\((.+?), TimestampType")
WIDTH = re.compile(r"\+ (\d+)\), LongType, TimestampType")
SLIDE = re.compile(r"% (\d+)\)")
GAP = re.compile(r"\+ (?:cast\()?(\d+ \w+)")
# Ids of what is not a column: results of functions, variables of lambdas, queries within.
IDS = re.compile(r"(\)| AS \S+?|lambda \w+|subquery)#\d+L?(-T\d+ms)?")
LAMBDAS = re.compile(r"lambda (\w+?)_\d+\b")


@dataclass
class Texts:
    """The attributes of a plan, by their ids."""

    _made_of: dict[int, str] = field(default_factory=dict)
    _columns: dict[int, frozenset[str]] = field(default_factory=dict)

    def walk(self, plan: Any) -> Iterator[Any]:
        """Every node from the bottom, each when what it is given is known."""
        for child in items(plan.children()):
            yield from self.walk(child)
        yield plan
        self._learn(plan)

    def of(self, expression: Any) -> str:
        """An expression over columns of the inputs."""
        if kind(expression) == "Alias":
            return self.of(expression.child())
        text = str(expression.toString())
        for one in _references(expression):
            identity, name = one.exprId().id(), str(one.name())
            made_of = self._made_of.get(identity, name)
            place = rf"(?<!\w){re.escape(name)}#{identity}L?(-T\d+ms)?(?!\d)"
            text = re.sub(place, made_of.replace("\\", r"\\"), text)
        return shortened(_of_time(_numbered(IDS.sub(r"\1", text))))

    def columns(self, expression: Any) -> tuple[str, ...]:
        """The inputs' columns that an expression is made of."""
        found = (self._columns.get(one.exprId().id(), ()) for one in _references(expression))
        return tuple(sorted({name for names in found for name in names}))

    def _learn(self, plan: Any) -> None:
        if kind(plan) in ("Project", "Aggregate"):
            aggregates = kind(plan) == "Aggregate"
            named = items(plan.aggregateExpressions() if aggregates else plan.projectList())
            known = [(one.exprId().id(), self.of(one), self.columns(one)) for one in named]
            for identity, made_of, columns in known:
                self._put(identity, made_of, columns)
            return
        if kind(plan) == "Union":
            self._learn_union(plan)
            return
        new = [one for one in items(plan.output()) if one.exprId().id() not in self._made_of]
        if plan.children().isEmpty():
            for one in new:
                text = f"{_input(one)}.{one.name()}".removeprefix(".")
                self._put(one.exprId().id(), text, (text,))
            return
        # A user's own state is told apart by its parts.
        told = kind(plan) in OWN_STATE or not new
        made = "" if told else ", ".join(self.of(one) for one in items(plan.expressions()))
        name = f"{kind(plan)}({made})" if made else kind(plan)
        for one in new:
            self._put(one.exprId().id(), shortened(f"{name}.{one.name()}"), ())

    def _learn_union(self, plan: Any) -> None:
        outputs = [items(child.output()) for child in items(plan.children())]
        for own, *parts in zip(items(plan.output()), *outputs, strict=True):
            columns = [self.columns(part) for part in parts]
            texts = {
                _of_any_input(self.of(part), names)
                for part, names in zip(parts, columns, strict=True)
            }
            text = texts.pop() if len(texts) == 1 else f"union({', '.join(sorted(texts))})"
            together = {name for names in columns for name in names}
            self._put(own.exprId().id(), shortened(text), tuple(sorted(together)))

    def _put(self, identity: int, made_of: str, columns: tuple[str, ...]) -> None:
        self._made_of[identity] = made_of
        self._columns[identity] = frozenset(columns)


def shortened(text: str) -> str:
    """A long text by its beginning and a hash of all of it."""
    if len(text) <= LONGEST:
        return text
    return f"{text[:SHOWN]}… {hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _of_time(text: str) -> str:
    """An expression, or a window by its time, width and slide, with a hash of all the rest."""
    found = BUCKETS.search(text)
    if found is None or not text.startswith("named_struct("):
        return text
    rest = hashlib.sha256(text.encode()).hexdigest()[:8]
    time = found[1].rpartition("precisetimestampconversion(")[2]
    width, slide, gap = WIDTH.findall(text), SLIDE.search(text), GAP.search(text)
    if width and slide:
        lengths = (f"{int(one) / 1_000_000:g} s" for one in dict.fromkeys((width[-1], slide[1])))
        return f"window({time}, {', '.join(lengths)}) {rest}"
    return f"session_window({time}{f', {gap[1]}' if gap else ''}) {rest}"


def _of_any_input(text: str, columns: tuple[str, ...]) -> str:
    for name in {column.partition(".")[0] for column in columns}:
        text = text.replace(f"{name}.", "*.")
    return text


def _references(expression: Any) -> list[Any]:
    return items(expression.references().toSeq())


def _input(attribute: Any) -> str:
    return str(json.loads(attribute.metadata().json()).get(INPUT, ""))


def _numbered(text: str) -> str:
    """Variables of lambdas by number in a text: Spark numbers those of a process."""
    seen: dict[str, str] = {}
    return LAMBDAS.sub(lambda m: seen.setdefault(m[0], f"lambda {m[1]}_{len(seen)}"), text)
