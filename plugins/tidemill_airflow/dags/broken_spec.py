"""A spec that does not load: an import error of that file, which leaves all other DAGs alone.

Airflow knows import errors of DAG files, and all our DAGs come from one. An exception there would
take every pipeline down, and an error noted under the DAG file's name marks every DAG of it stale.
"""

from __future__ import annotations

import re
from pathlib import Path

from airflow.exceptions import AirflowClusterPolicySkipDag
from airflow.sdk import DAG

from tidemill.contract.errors import TidemillError
from tidemill_airflow.airflow_internals.dag_bag import calling_bag, note_error


class BrokenSpec(DAG):
    """Stands where the pipeline's DAG would, and leaves its error in the DagBag instead."""

    spec_file: Path
    error: TidemillError

    @classmethod
    def of(cls, spec_file: Path, error: TidemillError, name: str | None = None) -> BrokenSpec:
        """Make one for a file, or a pipeline in it, and what is wrong with it."""
        dag_id = "broken." + re.sub(r"[^\w.-]", "_", name or spec_file.stem, flags=re.ASCII)
        dag = cls(dag_id=dag_id)
        dag.spec_file = spec_file
        dag.error = error
        return dag

    def validate(self) -> None:
        """Called by the DagBag before it takes a DAG: the one moment at which we meet it.

        Raises:
            AirflowClusterPolicySkipDag: the error is noted; the bag goes on without this DAG.
            TidemillError: no bag is there to note it, so it counts for the DAG file.
        """
        bag = calling_bag()
        if bag is None:
            raise self.error
        note_error(bag, self.spec_file, str(self.error))
        raise AirflowClusterPolicySkipDag(str(self.error))
