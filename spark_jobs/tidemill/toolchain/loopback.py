"""Where a driver listens: a local driver on the loopback interface only."""

from collections.abc import Mapping

LOOPBACK = "127.0.0.1"


def is_local(master: str) -> bool:
    """Whether a master has its executors in the driver's own process."""
    return master == "local" or master.startswith("local[")


def loopback_variables(master: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Variables that have Spark listen on the loopback interface, for a local master.

    Spark heeds them less than its settings: `spark.driver.host` and `spark.driver.bindAddress` of
    a spec or of `spark-defaults.conf` win.

    Args:
        master: Spark's, such as `local[*]`.
        environ: Variables of the same names in it are left as they are.
    """
    if not is_local(master):
        return {}
    variables = {"SPARK_LOCAL_IP": LOOPBACK, "SPARK_LOCAL_HOSTNAME": LOOPBACK}
    return {name: value for name, value in variables.items() if name not in environ}
