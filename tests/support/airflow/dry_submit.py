"""A command of spark-submit through Spark's own code, as far as it goes without a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml
from pyspark.sql import SparkSession

APP_ID = "spark-mill"


@dataclass(frozen=True)
class Submission:
    """What SparkSubmit would start.

    Attributes:
        main_class: The class.
        arguments: Its arguments; None for Python files that there are none of.
        conf: Spark's settings.
    """

    main_class: str
    arguments: tuple[str | None, ...]
    conf: Mapping[str, str]


class DrySubmit:
    """SparkSubmit and the builders of Kubernetes pods, in the JVM of a session.

    Args:
        session: Any.
    """

    def __init__(self, session: SparkSession) -> None:
        context: Any = session.sparkContext
        self._gateway, self._jvm = context._gateway, context._jvm
        self._none = self._object("scala.None")

    def submission(self, argv: Sequence[str], environ: Mapping[str, str]) -> Submission:
        """What a command comes to.

        Args:
            argv: Without the program's name.
            environ: The variables of spark-submit.
        """
        deploy = self._jvm.org.apache.spark.deploy
        given = deploy.SparkSubmitArguments(self._seq(argv), self._map(environ))
        prepared = deploy.SparkSubmit().prepareSubmitEnvironment(given, self._none)
        return Submission(
            main_class=prepared._4(),
            arguments=tuple(prepared._1().apply(at) for at in range(prepared._1().length())),
            conf={pair._1(): pair._2() for pair in prepared._3().getAll()},
        )

    def driver_pod(self, found: Submission) -> dict[str, Any]:
        """The pod of a driver as Kubernetes would be asked for it; its container is the first."""
        jvm = self._jvm.org.apache.spark.deploy.k8s
        options = dict(zip(found.arguments[::2], found.arguments[1::2], strict=True))
        words = [
            word
            for at, word in enumerate(found.arguments)
            if found.arguments[at - 1] == "--arg" and at % 2
        ]
        arguments = self._gateway.new_array(self._jvm.String, len(words))
        for at, word in enumerate(words):
            arguments[at] = word
        conf = jvm.KubernetesConf.createDriverConf(
            self._conf(found),
            APP_ID,
            jvm.submit.PythonMainAppResource(options["--primary-py-file"]),
            options["--main-class"],
            arguments,
            self._none,
        )
        built = jvm.submit.KubernetesDriverBuilder().buildFromFeatures(conf, self._client())
        return self._read(built.pod())

    def executor_pod(self, found: Submission) -> dict[str, Any]:
        """The pod of an executor, with its container first."""
        spark = self._jvm.org.apache.spark
        conf = self._conf(found).set("spark.driver.host", "mill").set("spark.driver.port", "7078")
        entry = self._object("org.apache.spark.internal.config.package")
        security = spark.SecurityManager(conf, self._none, entry.AUTH_SECRET_FILE_EXECUTOR())
        security.initializeAuth()
        profile = self._object("org.apache.spark.resource.ResourceProfile")
        built = spark.scheduler.cluster.k8s.KubernetesExecutorBuilder().buildFromFeatures(
            spark.deploy.k8s.KubernetesConf.createExecutorConf(conf, "1", APP_ID, self._none, 0),
            security,
            self._client(),
            profile.getOrCreateDefaultProfile(conf),
        )
        return self._read(built.pod())

    def _conf(self, found: Submission) -> Any:
        conf = self._jvm.org.apache.spark.SparkConf(False)
        for name, value in found.conf.items():
            conf.set(name, value)
        return conf

    def _client(self) -> Any:
        """A client that is asked to read files alone, and so reaches for no server."""
        return self._jvm.io.fabric8.kubernetes.client.KubernetesClientBuilder().build()

    def _read(self, built: Any) -> dict[str, Any]:
        texts = self._jvm.io.fabric8.kubernetes.client.utils.Serialization
        pod, container = (
            yaml.safe_load(texts.asYaml(of)) for of in (built.pod(), built.container())
        )
        others = pod["spec"].get("containers", [])
        return {**pod, "spec": {**pod["spec"], "containers": [container, *others]}}

    def _object(self, name: str) -> Any:
        package, _, own = name.rpartition(".")
        found = self._jvm
        for part in package.split("."):
            found = getattr(found, part)
        return getattr(getattr(found, f"{own}$"), "MODULE$")

    def _seq(self, words: Sequence[str]) -> Any:
        given = self._jvm.java.util.ArrayList()
        for word in words:
            given.add(word)
        return self._jvm.scala.jdk.CollectionConverters.ListHasAsScala(given).asScala().toSeq()

    def _map(self, values: Mapping[str, str]) -> Any:
        given = self._jvm.java.util.HashMap()
        for name, value in values.items():
            given.put(name, value)
        scala = self._jvm.scala.jdk.CollectionConverters.MapHasAsScala(given).asScala()
        return getattr(self._object("scala.collection.immutable.Map"), "from")(scala)
