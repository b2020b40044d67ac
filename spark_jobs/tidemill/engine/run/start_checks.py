"""What is refused before a query starts."""

from collections.abc import Sequence
from dataclasses import dataclass

from tidemill.compatibility.source_identity import verify_sources
from tidemill.engine.run.cores import refuse_few_cores
from tidemill.engine.run.query_run import QueryRun
from tidemill.engine.shape.birth_comparison import refuse_changed_plan
from tidemill.generations.execution import verify_execution
from tidemill.ledger.batch import Batch
from tidemill.sources.probe import probe_sources
from tidemill.sources.probe_result import ProbeResult, refuse_held


@dataclass(frozen=True)
class StartChecks:
    """The checks of one start; each raises a `Refused` that says what to do."""

    query: QueryRun

    def execution(self) -> None:
        """The checkpoint can go on in the way that the trigger asks for, with the cores there are.

        Raises:
            ExecutionChanged: Spark could not read the checkpoint.
            TooFewCores: some partitions would never be read.
        """
        query, trigger = self.query, self.query.trigger
        verify_execution(query.generation, continuous=trigger.continuous)
        if not trigger.by_batch:
            refuse_few_cores(query.session, query.context.pipeline, trigger)

    def plan(self) -> None:
        """The state in the checkpoint means the same to today's plan.

        Raises:
            QueryChanged: it does not.
        """
        query = self.query
        refuse_changed_plan(query.session, query.context.pipeline, query.generation.note)

    def inputs(self, batches: Sequence[Batch]) -> list[ProbeResult]:
        """The sources are those that the batches read, and can be read without loss.

        Args:
            batches: All batches of the generation, in order.

        Returns:
            What waits at each source.

        Raises:
            Refused: a source is another one, or holds what Spark would misread or skip.
        """
        pipeline = self.query.context.pipeline
        verify_sources(pipeline.layout, self.query.generation.name, pipeline.spec, batches)
        probes = probe_sources(pipeline, batches)
        refuse_held(problem for probe in probes for problem in probe.problems)
        return probes
