"""An outline of an analysed plan: what checks ask of each of its nodes, fetched by one call.

Node by node that takes thousands of calls to the JVM, half of the time in which a small query is
planned. A node of the outline answers by the names of Spark's; what it does not know it asks its
original, which is looked for only then.

Relies on `TreeNode.children` and `origin`, `QueryPlan.expressions` and `output`,
`LogicalPlan.isStreaming`, `Expression.deterministic`, `foldable` and `dataType`, and
`ParserInterface.parseExpression`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from tidemill.engine.spark_internals.java_object import java_object
from tidemill.engine.spark_internals.plan import KIND, analysed

# The attribute under which a frame keeps its own.
OUTLINE = "_tidemill_outline"
NAME = "tidemill.PlanOutline"
# A line for each node, in the order from the top, a plan's expressions before its children: class,
# whether it is streaming or deterministic, whether foldable, how many expressions and children, the
# type, and the text in SQL from which a constant came.
SOURCE = """
package tidemill;

import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;

public final class PlanOutline {
  public String of(LogicalPlan plan) {
    StringBuilder lines = new StringBuilder();
    add(plan, lines);
    return lines.toString();
  }

  public String columns(LogicalPlan plan) {
    StringBuilder found = new StringBuilder();
    Iterator of = plan.output().iterator();
    while (of.hasNext()) {
      NamedExpression column = (NamedExpression) of.next();
      found.append(column.exprId().id()).append(' ').append(column.name()).append('\\0');
    }
    return found.toString();
  }

  public String names(Expression expression) {
    StringBuilder found = new StringBuilder();
    addNames(expression, found);
    return found.toString();
  }

  private void addNames(Expression expression, StringBuilder found) {
    if (expression instanceof UnresolvedAttribute) {
      found.append(((UnresolvedAttribute) expression).nameParts().apply(0)).append('\\0');
    }
    Iterator below = expression.children().iterator();
    while (below.hasNext()) addNames((Expression) below.next(), found);
  }

  private void add(LogicalPlan plan, StringBuilder lines) {
    Seq expressions = (Seq) plan.expressions();
    Seq children = (Seq) plan.children();
    line(plan, plan.isStreaming(), false, expressions.size(), children.size(), "", "", lines);
    Iterator of = expressions.iterator();
    while (of.hasNext()) add((Expression) of.next(), lines);
    Iterator below = children.iterator();
    while (below.hasNext()) add((LogicalPlan) below.next(), lines);
  }

  private void add(Expression expression, StringBuilder lines) {
    Seq children = (Seq) expression.children();
    String type = "";
    String text = "";
    try {
      type = expression.dataType().catalogString();
    } catch (Exception untyped) {
      // Unresolved, or a window's specification. Whoever asks the original gets the error.
    }
    if (expression instanceof Literal && expression.origin().context() != null) {
      text = expression.origin().context().fragment();
    }
    boolean deterministic = expression.deterministic();
    line(expression, deterministic, expression.foldable(), 0, children.size(), type, text, lines);
    Iterator below = children.iterator();
    while (below.hasNext()) add((Expression) below.next(), lines);
  }

  private void line(
      Object node, boolean is, boolean foldable, int expressions, int children, String type,
      String text, StringBuilder lines) {
    lines.append(node.getClass().getSimpleName()).append('\\t')
        .append(is ? 1 : 0).append('\\t').append(foldable ? 1 : 0).append('\\t')
        .append(expressions).append('\\t').append(children).append('\\t')
        .append(plain(type)).append('\\t').append(plain(text)).append('\\n');
  }

  private String plain(String text) {
    return text == null ? "" : text.replace('\\n', ' ').replace('\\t', ' ');
  }
}
"""


@dataclass(frozen=True)
class Type:
    """The type of an expression."""

    text: str

    def catalogString(self) -> str:  # noqa: N802
        return self.text


@dataclass(frozen=True)
class Origin:
    """The text from which an expression came; empty where none is known."""

    text: str

    def context(self) -> "Origin | None":
        return self if self.text else None

    def fragment(self) -> str:
        return self.text


class Node:
    """A node of a plan or an expression.

    Args:
        line: The class, such as `Project`, and what else the outline tells of it.
        original: The JVM's; None to look for it below that of `parent` once it is needed.
        parent: The node above, and the name and the place by which this one is found there.
    """

    def __init__(
        self,
        line: Sequence[str],
        *,
        original: Any = None,
        parent: tuple["Node", str, int] | None = None,
    ) -> None:
        vars(self)[KIND], is_true, is_foldable, self._type, self._text = line
        self._is_true, self._is_foldable = is_true == "1", is_foldable == "1"
        self._original, self._parent = original, parent
        self._expressions: list[Node] = []
        self._children: list[Node] = []

    def children(self) -> list["Node"]:
        return self._children

    def expressions(self) -> list["Node"]:
        return self._expressions

    def isStreaming(self) -> bool:  # noqa: N802
        return self._is_true

    def deterministic(self) -> bool:
        return self._is_true

    def foldable(self) -> bool:
        return self._is_foldable

    def origin(self) -> Any:
        return Origin(self._text) if vars(self)[KIND] == "Literal" else self.original.origin()

    def dataType(self) -> Any:  # noqa: N802
        return Type(self._type) if self._type else self.original.dataType()

    @property
    def original(self) -> Any:
        """The JVM's object."""
        if self._original is None and self._parent is not None:
            above, name, place = self._parent
            self._original = getattr(above.original, name)().apply(place)
        return self._original

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)


def outlined(frame: DataFrame) -> Node:
    """The outline of a frame's plan with every name resolved."""
    known: dict[str, Node] = vars(frame)
    if OUTLINE not in known:
        plan = analysed(frame)
        lines = java_object(frame.sparkSession, NAME, SOURCE).of(plan).split("\n")
        known[OUTLINE] = _node(iter(lines), original=plan)
    return known[OUTLINE]


def column_ids(frame: DataFrame) -> dict[str, int]:
    """Column -> the id that Spark's analyser follows it by; a recomputed column has a new one."""
    found = java_object(frame.sparkSession, NAME, SOURCE).columns(analysed(frame))
    columns = (column.split(" ", 1) for column in _of_text(found))
    return {name: int(identity) for identity, name in columns}


def columns_named(sql: str) -> set[str]:
    """The columns that an expression names, each by the first part of its name."""
    session = SparkSession.active()
    parsed = session._jsparkSession.sessionState().sqlParser().parseExpression(sql)
    return {*_of_text(java_object(session, NAME, SOURCE).names(parsed))}


def _of_text(each: str) -> list[str]:
    """The parts of a text, each of which ends with NUL, which no column has in its name."""
    return each.split("\0")[:-1]


def _node(lines: Iterator[str], **place: Any) -> Node:
    *facts, expressions, children, type_, text = next(lines).split("\t")
    node = Node((*facts, type_, text), **place)
    for name, found, number in (
        ("expressions", node.expressions(), int(expressions)),
        ("children", node.children(), int(children)),
    ):
        found += (_node(lines, parent=(node, name, at)) for at in range(number))
    return node
