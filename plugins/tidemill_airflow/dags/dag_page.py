"""The text on a DAG's page in Airflow: what a run does, where rows come from, where they go."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tidemill.spec.spec import Spec
from tidemill_airflow.addresses import page_path
from tidemill_airflow.task_names import resolve_id

# What each task of a run does, in their order.
TASKS = {
    "doctor": "compares the sources with what earlier runs took in; the run ends here, skipped, "
    "where nothing is new, and red where going on would lose rows",
    "ingest": "runs the transform in Spark over what is new",
    "gate": "judges the new rows by the Great Expectations suite; what fails is held until a "
    "person decides, and what comes after it waits",
    "publish": "makes the rows that passed visible to readers, all at once",
}

# The fields of a source, target or sink that say which one it is.
NAMED = (
    "path",
    "subscribe",
    "subscribePattern",
    "assign",
    "data_source",
    "topic",
    "topic_column",
    "table",
    "conn_id",
)


def dag_page(name: str, spec: Spec, path: Path, root: str) -> str:
    """The page as Markdown.

    Args:
        root: `TIDEMILL_ROOT`, or its name where it is unknown.
    """
    tasks = TASKS if spec.published else {task: TASKS[task] for task in ("doctor", "ingest")}
    lines = [
        "What each task of a run does:",
        "",
        *(f"- `{task}` {what}" for task, what in tasks.items()),
        "",
        "Where rows come from, and where they go:",
        "",
        *(f"- source `{source}`: {_in_words(part)}" for source, part in spec.sources.items()),
        *_destinations(f"{root}/{name}", spec),
        f"- spec: `{path}`",
        f"- what is going on: [its page]({page_path('pipelines', name)}), or in a shell "
        f"`tidemill status {name}`",
    ]
    if spec.wake is not None:
        watched = (
            f"`{source}` ({kind}, a look each {watch.poke})"
            for kind, watch in spec.wake.watches.items()
            for source in spec.wake.sources_of(kind, spec.sources)
        )
        lines.insert(-2, f"- started when something is new at {', '.join(watched)}")
    if spec.published:
        lines += ["", *_by_hand(name, spec)]
    return "\n".join((spec.description.strip(), "", *lines)).strip()


def resolve_page(name: str, actions: Mapping[Any, str]) -> str:
    """The page of a pipeline's resolve DAG as Markdown.

    Args:
        actions: What each of them does, behind its name.
    """
    said = (text.partition(": ") for text in actions.values())
    return "\n".join(
        (
            f"Here a person decides about the data of `{name}`. Nothing in this DAG happens by "
            "itself.",
            "",
            "1. Choose *Trigger*, an action and a reason; for a release, a rejection or a "
            f"reinstatement also the number of the increment, which [the page of {name}]"
            f"({page_path('pipelines', name)}) shows. That page has a button for each decision "
            "that applies, too.",
            "2. The task `approve` asks for a person's approval: open *Required Actions* and "
            "answer. Nothing is done before, and a question without an answer counts as refused "
            "after a week.",
            "3. The other tasks carry the decision out. The history of the table keeps who "
            "approved it, and why.",
            "",
            "The actions:",
            "",
            *(f"- **{action}**: {what}" for action, _, what in said),
            "",
            "Where the suite was wrong, correct it and clear the task `gate` of the held run of "
            f"`{name}`: the same increment is judged again, and no decision is needed.",
            "",
            f"Runs of this DAG and of `{name}` write one after the other.",
        )
    )


def _by_hand(name: str, spec: Spec) -> Iterator[str]:
    """The run types that a person may start."""
    yield (
        "**Backfill** computes past partitions again, over everything that is published, judges "
        "them and swaps them in. Choose *Trigger*, then *Backfill*, the dates, and under "
        "*Reprocess Behavior* which of their days:"
    )
    yield ""
    yield "- *All Runs*: every one. After a correction of the transform this is the one you want."
    yield "- *Missing Runs*: only days for which the DAG has no run, published or not."
    yield "- *Missing and Errored Runs*: these, and the days whose run failed."
    yield ""
    yield (
        "A run that a backfill reprocesses is a backfill of its interval, whatever it did before; "
        "cleared afterwards, it is that backfill once more. A live run that is cleared stays one. "
        "Nothing is computed where nothing would change: the task `doctor` is skipped then, and "
        "its log says why. The first line of that log says what the run does: live run, backfill "
        "or dry run, and of which time."
    )
    yield ""
    yield (
        "For a **dry run** choose *Single Run* with mode `backfill`, from, to (in "
        f"{spec.timezone} where they name no zone; the end is not part of it) and *Dry run*: it "
        "says what would change, and changes nothing. The dialog *Backfill* sends *Dry run* and "
        "*Reason* only with *Override parameters on existing runs* ticked; else the backfill is a "
        "real one. Parameters that a run was once given stay with it until others are sent."
    )
    yield ""
    yield (
        "Partitions are computed as a whole. Live runs go on between those of a backfill from the "
        "dialog; the next live run waits for a single run. While the DAG is paused, the runs of a "
        "backfill stay queued: unpause it, in the dialog or by the switch beside its name."
    )
    if spec.group is not None:
        yield (
            f"A backfill of group `{spec.group}` is one of each of its pipelines; of this one "
            f"alone: `tidemill backfill {name} --from … --to …`."
        )
    if spec.wake is not None and spec.schedule is not None:
        yield "While a backfill goes on, arrivals wait for the next run by the clock."
    yield ""
    yield (
        "**Held increments**: release, redo, reject or reinstate them, or rebuild the table, in "
        f"`{resolve_id(name)}`."
    )


def _destinations(folder: str, spec: Spec) -> Iterator[str]:
    if spec.sink is not None:
        yield f"- sink: {_in_words(spec.sink)}; written by Spark itself, without a gate"
        return
    for target in spec.publish:
        if target.kind == "delta":
            yield f"- published table: `{folder}/table` (Delta)"
        else:
            yield f"- published to: {_in_words(target)}"
    yield f"- rejected rows: `{folder}/rejected` (Delta)"


def _in_words(part: Any) -> str:
    given = {field: value for field in NAMED if (value := getattr(part, field, None)) is not None}
    return ", ".join((part.kind, *(f"{field} `{value}`" for field, value in given.items())))
