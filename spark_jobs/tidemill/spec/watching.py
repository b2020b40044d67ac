"""What a pipeline tells of its running query: metrics of each batch, listeners of one's own."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

from tidemill.spec.model import Column, Expression

# `module:Class` in the project's `spark_jobs/listeners/module.py`, or a class of an installed
# package, `package.module:Class`.
Listener = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")]
# Metric -> an aggregate over the transform's result, in SQL.
Metrics = dict[Column, Expression]
