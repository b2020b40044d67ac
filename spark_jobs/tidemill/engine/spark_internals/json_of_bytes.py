"""Objects of JSON in texts, parsed without the decoder that `from_json` makes for each text.

Spark makes a reader with a buffer of 8 KB for every text: more than half of what `from_json` takes
(Spark 4.2). Its source of JSON files has Jackson read the bytes instead, and so does this, which
leaves all else to Spark's parser. A text that Jackson might take for another encoding than UTF-8 is
read as before, and so is one that is not UTF-8.

Relies on `JacksonParser`, `FailureSafeParser`, `JSONOptions`, `CreateJacksonParser`, the expression
`Invoke`, and Janino.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, SparkSession
from pyspark.sql.classic.column import Column as ClassicColumn
from pyspark.sql.types import BooleanType, DataType, StructType

from tidemill.engine.spark_internals.java_object import define_beside

PACKAGE = "org.apache.spark.sql.catalyst.json"
NAME = f"{PACKAGE}.JsonColumns"
# In the order in which Java can verify them.
CLASSES = ("Jackson", "SameText", "ObjectsOfText", "JsonOfBytes", "JsonColumns")
SOURCE = """
package org.apache.spark.sql.catalyst.json;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Map;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.util.FailureSafeParser;
import org.apache.spark.sql.classic.ExpressionUtils$;
import org.apache.spark.sql.types.DataType$;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Function1;
import scala.Function2;
import scala.collection.Iterator;
import scala.collection.immutable.$colon$colon;
import scala.collection.immutable.Nil$;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractFunction2;

final class Jackson extends AbstractFunction2 {
  private final boolean isUtf8;

  Jackson(boolean isUtf8) {
    this.isUtf8 = isUtf8;
  }

  // A stream, since Spark gives numbers as texts of other digits where it sees the array itself.
  public Object apply(Object factory, Object text) {
    UTF8String json = (UTF8String) text;
    boolean isPlain = json.numBytes() > 1 && json.getByte(0) == '{' && json.getByte(1) != 0;
    if (!isPlain || !(isUtf8 || json.isValid())) {
      return CreateJacksonParser$.MODULE$.utf8String((JsonFactory) factory, json);
    }
    ByteBuffer bytes = json.getByteBuffer();
    int begin = bytes.arrayOffset() + bytes.position();
    try {
      return ((JsonFactory) factory).createParser(
          new ByteArrayInputStream(bytes.array(), begin, bytes.remaining()));
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }
}

final class SameText extends AbstractFunction1 {
  public Object apply(Object text) {
    return text;
  }
}

final class ObjectsOfText extends AbstractFunction1 {
  private final JacksonParser parser;
  private final Function2 jackson;
  private final Function1 same = new SameText();

  ObjectsOfText(StructType values, JSONOptions options, boolean isUtf8) {
    jackson = new Jackson(isUtf8);
    parser = new JacksonParser(values, options, false, Nil$.MODULE$);
  }

  public Object apply(Object text) {
    return parser.parse(text, jackson, same);
  }
}

public final class JsonOfBytes implements Serializable {
  private final StructType schema;
  private final StructType values;
  private final JSONOptions options;
  private final boolean isUtf8;
  private transient FailureSafeParser parser;
  private transient JsonFactory factory;

  JsonOfBytes(StructType schema, JSONOptions options, boolean isUtf8) {
    this.schema = schema;
    this.options = options;
    this.isUtf8 = isUtf8;
    ArrayList others = new ArrayList();
    StructField[] fields = schema.fields();
    for (int at = 0; at < fields.length; at++) {
      if (!fields[at].name().equals(options.columnNameOfCorruptRecord())) {
        others.add(fields[at]);
      }
    }
    this.values = new StructType((StructField[]) others.toArray(new StructField[0]));
  }

  public InternalRow parse(UTF8String text) {
    if (parser == null) {
      String corrupt = options.columnNameOfCorruptRecord();
      ObjectsOfText objects = new ObjectsOfText(values, options, isUtf8);
      parser = new FailureSafeParser(objects, options.parseMode(), schema, corrupt);
    }
    Iterator rows = parser.parse(text);
    return rows.hasNext() ? (InternalRow) rows.next() : null;
  }

  // Whether nothing follows the value at the beginning of a text.
  public boolean isAlone(UTF8String text) {
    int last = text.numBytes() - 1;
    while (last > 0 && isBlank(text.getByte(last))) {
      last--;
    }
    int closed = 0;
    while (closed < last && text.getByte(closed) != '}') {
      closed++;
    }
    return closed == last && closed > 0 && text.getByte(closed) == '}' || isReadAlone(text);
  }

  private boolean isReadAlone(UTF8String text) {
    if (factory == null) {
      factory = options.buildJsonFactory();
    }
    try {
      JsonParser json = (JsonParser) new Jackson(isUtf8).apply(factory, text);
      try {
        json.nextToken();
        json.skipChildren();
        return json.nextToken() == null;
      } finally {
        json.close();
      }
    } catch (IOException unreadable) {
      return false;
    }
  }

  private static boolean isBlank(byte sign) {
    return sign == ' ' || sign == '\\t' || sign == '\\r' || sign == '\\n';
  }

  public String toString() {
    return "json";
  }
}

// Made by one call, since Python asks for each class and method by a call of its own.
public final class JsonColumns {
  public Column of(Column text, String method, String result, String schema, Map options,
      String zone, String corrupt, boolean isUtf8) {
    StructType fields = (StructType) DataType$.MODULE$.fromJson(schema).asNullable();
    JSONOptions given = new JSONOptions(PythonUtils.toScalaMap(options), zone, corrupt);
    ExpressionUtils$ columns = ExpressionUtils$.MODULE$;
    return columns.column(new Invoke(
        Literal$.MODULE$.fromObject(new JsonOfBytes(fields, given, isUtf8)),
        method,
        DataType$.MODULE$.fromJson(result).asNullable(),
        new $colon$colon(columns.expression(text), Nil$.MODULE$),
        Nil$.MODULE$,
        // Null gives null, anything may, and a text gives the same each time.
        true, true, true));
  }
}
"""


@dataclass(frozen=True)
class JsonOfBytes:
    """How texts of JSON are parsed by an application whose executors are this JVM.

    Args:
        session: The session of the texts' rows.
        text: The texts.
        options: Those of `from_json`.
        is_utf8: Whether every text is known to be valid UTF-8; asking each takes a sixth more.
    """

    session: SparkSession
    text: Column
    options: Mapping[str, str]
    is_utf8: bool

    def object_of(self, schema: StructType) -> Column:
        """What `from_json` makes of a text."""
        return self._call("parse", schema, schema)

    def is_alone(self) -> Column:
        """Whether nothing follows the value at the beginning of a text."""
        return self._call("isAlone", BooleanType(), StructType())

    def _call(self, method: str, result: DataType, schema: StructType) -> Column:
        text: Any = self.text
        conf = self.session.conf
        column = _columns(self.session).of(
            text._jc,
            method,
            result.json(),
            schema.json(),
            {**self.options},
            conf.get("spark.sql.session.timeZone"),
            conf.get("spark.sql.columnNameOfCorruptRecord"),
            self.is_utf8,
        )
        return ClassicColumn(column)


def _columns(session: SparkSession) -> Any:
    """The one object of `JsonColumns`, which the JVM keeps."""
    jvm: Any = session._jvm
    known: dict[str, Any] = vars(jvm)
    if NAME not in known:
        define_beside(session, f"{PACKAGE}.JacksonParser", SOURCE, CLASSES)
        setattr(jvm, NAME, jvm.org.apache.spark.sql.catalyst.json.JsonColumns())
    return known[NAME]
