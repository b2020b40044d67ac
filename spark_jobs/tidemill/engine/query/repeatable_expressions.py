"""Refuses expressions of a spec that use the clock or chance, each by its field."""

from pathlib import Path

from tidemill.contract.syntax.unrepeatable_sql import unrepeatable_in_sql
from tidemill.engine.query.refusals import TransformNotRepeatable
from tidemill.spec.spec import Spec


def refuse_unrepeatable_expressions(spec: Spec, spec_file: Path) -> None:
    """Look into the row rules and partitions of a spec, before a query starts.

    Raises:
        TransformNotRepeatable: one gives another value the next time.
    """
    for source in spec.sources:
        columns = (*spec.sources[source].columns, *spec.output.partition_by)
        fields = {f"output.partition_by.{n}": e for n, e in spec.output.partition_by.items()}
        fields |= {f"row_rules.{n}": e for n, e in spec.row_rules.items()}
        own = spec.sources[source].row_rules
        fields |= {f"sources.{source}.row_rules.{n}": e for n, e in own.items()}
        for field, sql in fields.items():
            for used in unrepeatable_in_sql(sql, columns):
                raise TransformNotRepeatable(
                    f"{spec_file}: {field} uses {used}, which gives another value the next time.",
                    remedy="Compute it from the row, so that a retry makes the same rows.",
                    path=spec_file,
                    field=field,
                    expression=used,
                )
