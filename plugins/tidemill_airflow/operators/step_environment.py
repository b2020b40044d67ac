"""The environment of a step: the variables it needs from Airflow's, by name, and no others.

A transform is anybody's code, and an Airflow worker's variables hold Airflow's own secrets: its
Fernet key, its tokens' secret, the metadata database's address, every connection.
"""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from tidemill.spec.spec import Spec

# More names, or patterns such as AWS_*, separated by commas.
PASSED_TOO = "TIDEMILL_PASS_ENV"
# As patterns; all of them are settings of the machine, of Java, of Python, of Spark and of ours.
NEEDED = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "HOSTNAME", "TMPDIR", "TEMP", "TMP", "XDG_*"),
    *("TZ", "LANG", "LANGUAGE", "LC_*"),
    *("LD_*", "MALLOC_*", "OMP_NUM_THREADS"),
    *("PYTHON*", "VIRTUAL_ENV", "GX_*"),
    *("JAVA_HOME", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH"),
    *("SPARK_*", "PYSPARK_*", "HADOOP_*", "YARN_*"),
    *("SSL_*", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "KRB5*"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"),
    *("http_proxy", "https_proxy", "no_proxy", "all_proxy"),
    "TIDEMILL_*",
)


def step_environment(specs: Iterable[Spec], environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of a task's environment that are passed to steps.

    Args:
        specs: The pipelines' specs; variables that they name under `env` are passed.
        environ: The task's environment variables.
    """
    named = {name for spec in specs for name in spec.env}
    more = (name.strip() for name in environ.get(PASSED_TOO, "").split(","))
    patterns = (*NEEDED, *filter(None, more))
    return {
        name: value
        for name, value in environ.items()
        if name in named or any(fnmatchcase(name, pattern) for pattern in patterns)
    }
