"""An Airflow connection of Spark: its master, and the secret of a cluster that asks for one."""

from collections.abc import Iterable, Mapping
from typing import Any

from tidemill.contract.connections.airflow import Connection
from tidemill.contract.errors import UsageError

# The name of the secret in a connection's extra, which is Spark's own.
SECRET = "spark.authenticate.secret"  # noqa: S105 - a name
# How it gets into a driver under spark-submit: no command line and no page of Spark shows it.
SECRET_VARIABLE = "_SPARK_AUTH_SECRET"  # noqa: S105 - a name
STANDALONE = "spark://"
KUBERNETES = "k8s://"
# The extra's name for the Kubernetes secret that a driver in a pod takes its variables from.
KUBERNETES_SECRET = "kubernetes-secret"  # noqa: S105 - a name
# With the secret comes encryption of what driver and executors say to each other.
AUTHENTICATED = {"spark.authenticate": "true", "spark.network.crypto.enabled": "true"}
# What the extra may say for a driver that no spark-submit starts -> Spark's setting.
SETTINGS = {"queue": "spark.yarn.queue", "namespace": "spark.kubernetes.namespace"}
# What the provider of Airflow reads and a driver without spark-submit does not need.
OF_SUBMIT = frozenset(
    {"deploy-mode", "spark-binary", "rest-scheme", "rest-port", KUBERNETES_SECRET}
)


class DeployModeRefused(UsageError):
    """A connection asks for a driver on a worker of a standalone cluster; carries `conn_id`."""


class SecretsCannotReachDriver(UsageError):
    """A driver on another machine could read its secrets on a command line alone.

    Carries `conn_id` and the names of the variables.
    """


class ConnectionNeedsSubmit(UsageError):
    """A connection says what only spark-submit can use; carries `conn_id` and `key`."""


def master_of(connection: Connection) -> str:
    """The master's URL, put together as Airflow's Spark provider does it."""
    host = connection.host or ""
    whole = connection.conn_type == "spark" and host and ("://" in host or not connection.port)
    master = host if whole else f"{connection.conn_type}://{host}"
    return f"{master}:{connection.port}" if connection.port else master


def refuse_deploy_mode(master: str, deploy_mode: str | None, conn_id: str) -> None:
    """Refuse a driver that would run on a worker, where Spark has none for Python.

    Raises:
        DeployModeRefused: the master is a standalone one and the deploy mode is `cluster`.
    """
    if master.startswith(STANDALONE) and deploy_mode == "cluster":
        raise DeployModeRefused(
            f"Connection '{conn_id}' has deploy-mode cluster: a standalone cluster runs no driver "
            "in Python on its workers, and neither does --supervise start one again.",
            remedy="Remove deploy-mode from the connection's extra; the driver then runs under its "
            "task, which Airflow starts again.",
            conn_id=conn_id,
        )


def references(
    master: str, secret: str | None, variables: Iterable[str], conn_id: str
) -> dict[str, str]:
    """Spark's settings by which a driver on another machine gets its secret variables.

    Args:
        master: The URL of the master.
        secret: The name of the Kubernetes secret, where the connection's extra has one. It has a
            key for each variable.
        variables: The names of the variables.
        conn_id: For the error.

    Raises:
        SecretsCannotReachDriver: there are variables, and no secret to take them from.
    """
    names = sorted(variables)
    if names and not (master.startswith(KUBERNETES) and secret):
        raise SecretsCannotReachDriver(
            f"Connection '{conn_id}' has deploy-mode cluster: the driver would run on another "
            f"machine, which {', '.join(names)} could reach on a command line alone.",
            remedy="Remove deploy-mode from the connection's extra; the driver then runs under its "
            f"task. On Kubernetes you may instead name a secret under {KUBERNETES_SECRET}.",
            conn_id=conn_id,
            variables=names,
        )
    return {f"spark.kubernetes.driver.secretKeyRef.{name}": f"{secret}:{name}" for name in names}


def secret_settings(extra: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """What a driver under spark-submit needs to be let into the cluster.

    Args:
        extra: The connection's extra.

    Returns:
        Spark's settings, which are not secret, and the variables with the secret. Both are empty
        where the extra has none.
    """
    secret = extra.get(SECRET)
    return (dict(AUTHENTICATED), {SECRET_VARIABLE: str(secret)}) if secret else ({}, {})


def secrets_of(environ: Mapping[str, str]) -> dict[str, str]:
    """The secret that spark-submit was started with, as Spark's setting.

    A standalone driver takes it from its settings alone.
    """
    secret = environ.get(SECRET_VARIABLE)
    return {SECRET: secret} if secret else {}


def driver_settings(
    connection: Connection, conn_id: str
) -> tuple[str, dict[str, str], dict[str, str]]:
    """The master, Spark's settings and its secret ones of a driver that no spark-submit starts.

    Raises:
        DeployModeRefused: the driver would have to run on a worker.
        ConnectionNeedsSubmit: the extra has more than such a driver can heed.
    """
    master, extra = master_of(connection), connection.settings
    refuse_deploy_mode(master, extra.get("deploy-mode"), conn_id)
    given = {key: value for key, value in extra.items() if value not in (None, "")}
    for key in given:
        if key not in {SECRET, *SETTINGS, *OF_SUBMIT}:
            raise ConnectionNeedsSubmit(
                f"Connection '{conn_id}' has '{key}', which only spark-submit can use.",
                remedy="Run the pipeline from Airflow, or set TIDEMILL_MASTER to the master and "
                "give Spark the rest in spark-defaults.conf.",
                conn_id=conn_id,
                key=key,
            )
    settings, variables = secret_settings(extra)
    own = {name: str(given[key]) for key, name in SETTINGS.items() if key in given}
    return master, {**own, **settings}, secrets_of(variables)
