"""The projections and filters of a plan, made again so that they leave some rows as they are.

Expression by expression that takes hundreds of calls to the JVM for a small transform.

Relies on `Project`, `Filter` and `SubqueryAlias`, on `TreeNode.fastEquals`, and on the constructors
of `Alias`, `If`, `IsNull` and `Literal`.
"""

from pyspark.sql import DataFrame

from tidemill.engine.spark_internals.catalyst import Catalyst
from tidemill.engine.spark_internals.java_object import java_object
from tidemill.engine.spark_internals.plan import analysed

NAME = "tidemill.GuardedSteps"
# An expression whose class has a word of UNGUARDABLE in its name runs whatever guards it, or is of
# many rows.
SOURCE = """
package tidemill;

import java.util.ArrayList;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;
import scala.collection.mutable.Buffer;
import scala.jdk.javaapi.CollectionConverters;

public final class GuardedSteps {
  private static final String[] UNGUARDABLE = {
    "UDF", "Subquery", "Window", "Generator", "AggregateExpression", "PythonFunction"
  };

  public String classes(LogicalPlan top, LogicalPlan bottom) {
    ArrayList steps = steps(top, bottom);
    if (steps == null) return null;
    StringBuilder names = new StringBuilder();
    for (int step = 0; step < steps.size(); step++) {
      names.append(steps.get(step).getClass().getSimpleName()).append(' ');
    }
    return names.toString();
  }

  public LogicalPlan above(LogicalPlan all, LogicalPlan bottom, LogicalPlan top, String marked) {
    ArrayList steps = steps(top, bottom);
    if (steps == null) return null;
    for (int step = 0; step < steps.size(); step++) {
      Iterator of = ((LogicalPlan) steps.get(step)).expressions().iterator();
      while (of.hasNext()) if (!guardable((Expression) of.next())) return null;
    }
    Attribute mark = null;
    Iterator columns = all.output().iterator();
    while (columns.hasNext()) {
      Attribute column = (Attribute) columns.next();
      if (mark == null && column.name().equals(marked)) mark = column;
    }
    LogicalPlan plan = all;
    for (int step = steps.size() - 1; step >= 0; step--) {
      Object found = steps.get(step);
      if (found instanceof Filter) {
        Expression condition = ((Filter) found).condition();
        plan = new Filter(new If(new IsNull(mark), condition, Literal.TrueLiteral()), plan);
      } else {
        plan = guarded((Project) found, plan, mark);
      }
    }
    ArrayList output = new ArrayList();
    Iterator named = top.output().iterator();
    while (named.hasNext()) {
      Attribute column = (Attribute) named.next();
      ExprId fresh = NamedExpression$.MODULE$.newExprId();
      output.add(unlessMarked(column, column.name(), fresh, mark));
    }
    output.add(mark);
    return new Project(sequence(output), plan);
  }

  private ArrayList steps(LogicalPlan top, LogicalPlan bottom) {
    ArrayList found = new ArrayList();
    LogicalPlan plan = top;
    while (!plan.fastEquals(bottom)) {
      if (plan instanceof Project || plan instanceof Filter) found.add(plan);
      else if (!(plan instanceof SubqueryAlias)) return null;
      plan = (LogicalPlan) plan.children().apply(0);
    }
    return found;
  }

  private boolean guardable(Expression expression) {
    if (!expression.deterministic()) return false;
    String name = expression.getClass().getSimpleName();
    for (int word = 0; word < UNGUARDABLE.length; word++) {
      if (name.contains(UNGUARDABLE[word])) return false;
    }
    Iterator below = expression.children().iterator();
    while (below.hasNext()) if (!guardable((Expression) below.next())) return false;
    return true;
  }

  private LogicalPlan guarded(Project step, LogicalPlan below, Attribute mark) {
    ArrayList columns = new ArrayList();
    Iterator of = step.projectList().iterator();
    while (of.hasNext()) {
      Object column = of.next();
      if (column instanceof Alias) {
        // The steps above refer to this column by its id.
        Alias named = (Alias) column;
        columns.add(unlessMarked(named.child(), named.name(), named.exprId(), mark));
      } else {
        columns.add(column);
      }
    }
    columns.add(mark);
    return new Project(sequence(columns), below);
  }

  private Alias unlessMarked(Expression value, String name, ExprId identity, Attribute mark) {
    Expression unless =
        new If(new IsNull(mark), value, new Literal(null, value.dataType()));
    return new Alias(unless, name, identity, Nil$.MODULE$, Option.empty(), Nil$.MODULE$);
  }

  private Seq sequence(ArrayList columns) {
    return ((Buffer) CollectionConverters.asScala(columns)).toSeq();
  }
}
"""


def step_classes(top: DataFrame, bottom: DataFrame) -> list[str] | None:
    """The classes of the steps between two frames, from the top: `Project` and `Filter`.

    Args:
        top: What was made of `bottom`.
        bottom: The rows at the beginning.

    Returns:
        None where there are other steps, too.
    """
    names = java_object(top.sparkSession, NAME, SOURCE).classes(analysed(top), analysed(bottom))
    return None if names is None else str(names).split()


def guarded(
    everything: DataFrame, bottom: DataFrame, top: DataFrame, mark: str
) -> DataFrame | None:
    """The steps between two frames over more rows, of which the marked ones become nulls.

    Args:
        everything: Rows with a mark, and the columns of `bottom`.
        bottom: Those without a mark.
        top: What was made of `bottom`.
        mark: The column that is null in a row without a mark.

    Returns:
        A frame with the columns of `top` (null in a marked row) and the mark. None where there are
        other steps than projections and filters, or an expression that no condition keeps from its
        rows.
    """
    session = everything.sparkSession
    plans = analysed(everything), analysed(bottom), analysed(top)
    plan = java_object(session, NAME, SOURCE).above(*plans, mark)
    return None if plan is None else Catalyst(session).frame(plan)
