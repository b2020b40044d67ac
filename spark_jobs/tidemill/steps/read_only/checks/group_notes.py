"""Notes on templates whose pipelines could share a DAG and a Spark application."""

from collections.abc import Iterator, Mapping

from tidemill.contract.counted import counted
from tidemill.spec.groups import differing
from tidemill.spec.spec import Spec


def group_note(template: str, specs: Mapping[str, Spec]) -> Iterator[str]:
    """The sentence about a template; none where a group is chosen, impossible or dearer.

    Args:
        template: Its name, with those of its folders.
        specs: Pipeline -> spec, for all of its pipelines.
    """
    first, *others = specs.values()
    if not others or template in specs or first.schedule is None or first.wake is not None:
        return
    if any(one.group is not None for one in specs.values()):
        return
    if any(differing(first, other) for other in others):
        return
    yield (
        f"{template}: its {counted(len(specs), 'pipeline')} start a Spark application each, at the "
        f"same time. Where each brings few rows, `group: {template}` in the template lets them "
        "share one, and one DAG, at a fraction of the cost."
    )
