"""What the pipelines of a group have in common: a DAG, and a Spark application."""

from tidemill.spec.spec import Spec

# What one DAG and one Spark application have one of.
SHARED = ("schedule", "timezone", "wake", "spark", "airflow")


def differing(one: Spec, other: Spec) -> str | None:
    """The first field that keeps two pipelines from sharing a group; None where none does."""
    return next((field for field in SHARED if getattr(one, field) != getattr(other, field)), None)
