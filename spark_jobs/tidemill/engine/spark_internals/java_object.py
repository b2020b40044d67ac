"""Objects of small classes in Java, for what takes thousands of calls to the JVM one by one.

Relies on Janino, the compiler that Spark brings for the code that it generates.
"""

from collections.abc import Sequence
from threading import Lock
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

_COMPILING = Lock()
_DEFINITION = "tidemill.Definition"
_DEFINITION_SOURCE = """
package tidemill;

import java.lang.invoke.MethodHandles;

public final class Definition {
  public void beside(Class neighbour, byte[] code) throws IllegalAccessException {
    MethodHandles.privateLookupIn(neighbour, MethodHandles.lookup()).defineClass(code);
  }
}
"""


def java_object(session: SparkSession, name: str, source: str) -> Any:
    """The one object of a class, which the JVM keeps: all its sessions and threads share it.

    Args:
        session: Any session of the JVM.
        name: The full name of the class, whose constructor takes nothing.
        source: Its source.
    """
    jvm: Any = session._jvm
    with _COMPILING:
        known: dict[str, Any] = vars(jvm)
        if name not in known:
            setattr(jvm, name, instance(session, compiled(session, source), name))
        return known[name]


def define_beside(session: SparkSession, neighbour: str, source: str, names: Sequence[str]) -> None:
    """Give the JVM classes that are found by name wherever one of Spark's or Hadoop's is.

    Only what runs in this JVM finds them: a driver, and the executors of a local master.

    Args:
        session: Any session of the JVM.
        neighbour: The full name of that class, in whose package they are.
        source: The source of the classes.
        names: Theirs without the package, in the order in which Java can verify them.
    """
    jvm: Any = session._jvm
    beside = jvm.java.lang.Class.forName(neighbour)
    package = beside.getPackageName()
    definition = java_object(session, _DEFINITION, _DEFINITION_SOURCE)
    with _COMPILING:
        try:
            beside.getClassLoader().loadClass(f"{package}.{names[-1]}")
        except Py4JJavaError:
            codes = compiled(session, source).getBytecodes()
            for name in names:
                definition.beside(beside, codes.get(f"{package}.{name}"))


def compiled(session: SparkSession, source: str) -> Any:
    """The compiler of a source, which has its classes and their code.

    Args:
        session: Any session of the JVM.
    """
    jvm: Any = session._jvm
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader())
    compiler.cook(source)
    return compiler


def instance(session: SparkSession, compiler: Any, name: str) -> Any:
    """An object of a class that was compiled.

    Args:
        session: Any session of the JVM.
        name: The full name of the class, whose constructor takes nothing.
    """
    jvm: Any = session._jvm
    gateway: Any = session.sparkContext._gateway
    return jvm.org.apache.commons.lang3.reflect.ConstructorUtils.invokeConstructor(
        compiler.getClassLoader().loadClass(name), gateway.new_array(jvm.java.lang.Object, 0)
    )
