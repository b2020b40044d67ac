"""Airflow assets that a pipeline reads or writes, beside its own published table."""

from typing import Annotated, Self

from pydantic import Field, JsonValue, StringConstraints, model_validator

from tidemill.spec.model import Disagreement, Model
from tidemill.spec.secret_setting import is_secret

# Airflow takes ASCII alone.
Uri = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9+.-]*:[!-~]+$", max_length=1500)
]
AssetName = Annotated[str, StringConstraints(pattern=r"^[!-~]+$", max_length=1500)]


class AssetSpec(Model):
    """An asset, by Airflow's own names.

    Attributes:
        uri: What names it in Airflow, such as `s3://bucket/key`.
        name: Its URI where not given.
        extra: What other DAGs may want to know of it, as text, numbers, lists and objects.
    """

    uri: Uri
    name: AssetName | None = None
    extra: dict[str, JsonValue] = {}

    @model_validator(mode="after")
    def _names_no_secret(self) -> Self:
        parts: dict[str, dict[str, JsonValue]] = {"uri": {"uri": self.uri}, "extra": self.extra}
        for part, settings in parts.items():
            if any(is_secret(name, value) for name, value in settings.items()):
                msg = "it would put a secret into a file that many people read"
                raise Disagreement(msg, part)
        return self


class Assets(Model):
    """The assets of a pipeline.

    Attributes:
        inlets: Assets that it reads; Airflow's asset graph shows them.
        outlets: Assets that get an event when a run has published something.
    """

    inlets: Annotated[tuple[AssetSpec, ...], Field(max_length=100)] = ()
    outlets: Annotated[tuple[AssetSpec, ...], Field(max_length=100)] = ()
