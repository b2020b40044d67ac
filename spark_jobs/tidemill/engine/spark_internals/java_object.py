"""Objects of small classes in Java, for what takes thousands of calls to the JVM one by one.

Relies on Janino, the compiler that Spark brings for the code that it generates.
"""

from threading import Lock
from typing import Any

from pyspark.sql import SparkSession

_COMPILING = Lock()


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
