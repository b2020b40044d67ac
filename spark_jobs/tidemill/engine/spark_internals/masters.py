"""The masters of a standalone cluster: whether one of them lets this driver in.

Spark itself asks three times, for a minute in all, and then says that a context was stopped. Relies
on `RpcEnv`, by which a driver talks to its master, and on `SparkContext._ensure_initialized`.
"""

from collections.abc import Mapping
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext

from tidemill.contract.connections.spark import STANDALONE
from tidemill.contract.connections.spark_masters import DriverRefused

# What Spark says -> what is the matter.
REASONS = {
    "Mismatched response": "it asks for another secret",
    "Expected SaslMessage": "it asks for a secret",
    "EOFException": "it asks for no secret",
}
# A master that is down or busy; Spark, which asks again, may find it up.
OUTAGES = ("Failed to connect", "Connecting to", "TimeoutException", "Connection reset", "closed")
PATIENCE = ("spark.rpc.lookupTimeout", "10s")


def jvm_of_process() -> Any:
    """The JVM of this process, which spark-submit has started."""
    SparkContext._ensure_initialized()
    return SparkContext._jvm


def verify_let_in(jvm: Any, secrets: Mapping[str, str], conn_id: str) -> None:
    """Prove that a master lets a driver in, where that of the JVM's settings is a standalone one.

    Args:
        jvm: A JVM that has no Spark context yet.
        secrets: Settings of the driver that the JVM was not started with.
        conn_id: The connection that names the master.

    Raises:
        DriverRefused: none does, and one of them says no.
    """
    spark = jvm.org.apache.spark
    conf = spark.SparkConf()
    master = conf.get("spark.master", "")
    if not master.startswith(STANDALONE):
        return
    for name, value in (PATIENCE, *secrets.items()):
        conf.set(name, value)
    env = _environment(jvm, conf)
    refusals = {}
    try:
        for url in spark.util.Utils.parseStandaloneMasterUrls(master):
            said = _refusal(env, spark.rpc.RpcAddress.fromSparkURL(url))
            if said == "":
                return
            if said is not None:
                refusals[url.removeprefix(STANDALONE)] = said
    finally:
        env.shutdown()
    if refusals:
        listed = "; ".join(f"{place}: {said}" for place, said in refusals.items())
        raise DriverRefused(
            f"The Spark master of connection '{conn_id}' does not let this driver in ({listed}).",
            remedy="Give the connection's extra the cluster's spark.authenticate.secret, or none "
            "where the cluster has none, and the driver the cluster's version of Spark.",
            masters=refusals,
            conn_id=conn_id,
        )


def _environment(jvm: Any, conf: Any) -> Any:
    spark = jvm.org.apache.spark
    config = getattr(getattr(spark.internal.config, "package$"), "MODULE$")
    none = getattr(getattr(jvm.scala, "None$"), "MODULE$")
    security = spark.SecurityManager(conf, none, config.AUTH_SECRET_FILE())
    return spark.rpc.RpcEnv.create("tidemill", "localhost", 0, conf, security, True)


def _refusal(env: Any, address: Any) -> str | None:
    """Why a master does not let us in; '' where it does, None where it does not answer."""
    try:
        # First the connection alone: in the other call its error may be hidden by another one.
        env.createClient(address)
        env.setupEndpointRef(address, "Master")
    except Py4JJavaError as error:
        texts = []
        cause = error.java_exception
        while cause is not None:
            texts.append(str(cause.toString()))
            cause = cause.getCause()
        text = " ".join(texts)
        if any(outage in text for outage in OUTAGES):
            return None
        known = (reason for said, reason in REASONS.items() if said in text)
        return next(known, texts[-1])
    return ""
