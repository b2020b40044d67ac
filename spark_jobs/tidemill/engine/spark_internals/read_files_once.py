"""An optimizer rule by which a batch of a file stream reads each of its files once.

Spark's file stream names the files of a batch to `DataSource` and tells it not to take their names
for globs. For each name with one of `[ ] { } * ? \\` it then adds all files of the batch once more
(SPARK-58518, in 4.2.0 to 4.3.0). No setting avoids that without giving up partition columns, so the
rule takes the repeated paths out of the plan.

Relies on `ExperimentalMethods.extraOptimizations`, and on `LogicalRelation`, `HadoopFsRelation` and
`InMemoryFileIndex`.
"""

from typing import Any

from pyspark.sql import SparkSession

from tidemill.engine.spark_internals.java_object import java_object

RULE = "tidemill.ReadFilesOnce"
SOURCE = """
package tidemill;

import java.util.ArrayList;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.NoopCache$;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.collection.mutable.Buffer;
import scala.jdk.javaapi.CollectionConverters;

public final class ReadFilesOnce extends Rule {
  public TreeNode apply(TreeNode plan) {
    if (plan instanceof LogicalRelation) return once((LogicalRelation) plan);
    Seq children = (Seq) plan.children();
    ArrayList found = new ArrayList();
    boolean changed = false;
    for (int position = 0; position < children.size(); position++) {
      TreeNode before = (TreeNode) children.apply(position);
      TreeNode after = apply(before);
      changed = changed || after != before;
      found.add(after);
    }
    Seq renewed = ((Buffer) CollectionConverters.asScala(found)).toSeq();
    return changed ? plan.withNewChildren(renewed) : plan;
  }

  private LogicalRelation once(LogicalRelation plan) {
    if (!plan.isStreaming() || !(plan.relation() instanceof HadoopFsRelation)) return plan;
    HadoopFsRelation read = (HadoopFsRelation) plan.relation();
    if (!(read.location() instanceof InMemoryFileIndex)) return plan;
    InMemoryFileIndex index = (InMemoryFileIndex) read.location();
    Seq paths = (Seq) index.rootPaths().distinct();
    if (paths.size() == index.rootPaths().size()) return plan;
    InMemoryFileIndex distinct = new InMemoryFileIndex(
        read.sparkSession(), paths, read.options(), Option.apply(read.schema()),
        NoopCache$.MODULE$, Option.apply(index.partitionSpec()), Option.empty());
    HadoopFsRelation relation = read.copy(
        distinct, read.partitionSchema(), read.dataSchema(), read.bucketSpec(),
        read.fileFormat(), read.options(), read.sparkSession());
    return plan.copy(
        relation, plan.output(), plan.catalogTable(), plan.isStreaming(), plan.stream());
  }
}
"""


def read_files_once(session: SparkSession) -> None:
    """Add the rule to a session, whose queries started from now on have it."""
    jvm: Any = session._jvm
    converters = jvm.scala.jdk.javaapi.CollectionConverters
    methods = session._jsparkSession.experimental()
    rules = list(converters.asJava(methods.extraOptimizations()))
    if RULE not in (str(rule.getClass().getName()) for rule in rules):
        added = converters.asScala([*rules, java_object(session, RULE, SOURCE)]).toSeq()
        getattr(methods, "extraOptimizations_$eq")(added)
