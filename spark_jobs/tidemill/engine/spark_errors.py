"""Spark's errors as Tidemill's: whether a retry can help, and what to do about them."""

import json
import re
from textwrap import shorten

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql.streaming import StreamingQuery

from tidemill.contract.errors import TidemillError, TransientError
from tidemill.contract.outage import is_outage
from tidemill.engine import callback_errors
from tidemill.engine.frame_errors import frame_error
from tidemill.engine.spark_internals.java_errors import SparkError, causes, converted
from tidemill.spark_logs.partition_paths import disk_path

# SQLSTATE classes of errors that come back at every retry: data exceptions, user functions,
# syntax, unsupported features, partition folders that contradict each other.
HOPELESS = ("22", "38", "39", "42", "0A", "54", "P0", "KD009")
# Errors that Spark wraps without a SQLSTATE of their own.
HOPELESS_TEXTS = (
    "PythonException",
    "CSV header does not conform to the schema",
    "ResourceProfiles are only supported",
)
# How Spark names a file that it could not read, in two places.
UNREADABLE = re.compile(
    r"(?:Encountered error while reading file|CSV file:) (file:\S+?)\.?(?:\s|$)"
)
# A file system that stumbled, not a file that is wrong.
STUMBLES = ("Input/output error", "Stale file handle", "timed out", "Too many open files")
NO_SPACE = re.compile(r"No space left on device|Disk quota exceeded")
TRACEBACK = "Traceback (most recent call last):"
# Where only the text has the condition and the SQLSTATE of an error.
CONDITION = re.compile(r"\[([A-Z][A-Z0-9_.]+)\](?:(?!SQLSTATE: ).)*SQLSTATE: (\w{5})", re.DOTALL)
# Where the plan begins that was analysed.
PLAN = re.compile(r";\s*\n['!]?[A-Z]|\n\n?(?:JVM stacktrace|== )")
# What the text begins with in which a source's reader says that a record has new fields.
NEW_FIELDS = "tidemill: new fields "
NO_HEAP = "java.lang.OutOfMemoryError"
RACES = ("CONCURRENT_STREAM_LOG_UPDATE", "Race while writing batch")


class QueryFailed(TidemillError):
    """The query stopped with an error that a retry will meet again; carries `condition`."""


class FileUnreadable(QueryFailed):
    """A file of a source cannot be read as the spec says; carries `file` and `condition`."""


class NewFields(QueryFailed):
    """A record has fields that its schema does not name; carries `origin` and `fields`."""


class QueryInterrupted(TransientError):
    """The query stopped with an error that may be gone at the next try; carries `condition`."""


class OutOfMemory(QueryInterrupted):
    """The JVM's heap was too small for a batch, or for one row of it; carries `condition`."""


def from_spark(error: SparkError) -> TidemillError:
    """An error of Spark's, told apart by whether a retry can help.

    Args:
        error: As PySpark raised it; it hands some of Spark's errors on as Py4J has them.
    """
    error = converted(error)
    condition, state, text = _all_of(error)
    first = _shortened(text)
    if of_frame := frame_error(text):
        return of_frame
    if any(race in text for race in RACES):
        return QueryInterrupted(
            f"Another driver wrote to the same checkpoint: {first}",
            remedy="The next try carries on from the last committed batch.",
            condition=condition,
        )
    if NEW_FIELDS in text:
        return _new_fields(text, condition)
    if NO_HEAP in text:
        return OutOfMemory(
            f"The JVM ran out of memory: {first}",
            remedy="Give spark.conf more spark.driver.memory (or spark.executor.memory), or take "
            "less at once: maxBytesPerTrigger. Spark holds a whole line of CSV, JSON or text, and "
            "a whole file with multiLine, several times over, unpacked: if it comes again, look "
            "for such a file among the newest.",
            if_again="Change what it has before the next run: more spark.driver.memory (or "
            "spark.executor.memory) in spark.conf, or less at once: maxBytesPerTrigger. A single "
            "line, or a file with multiLine, that is too large for any setting has to leave the "
            "source's path: look among its newest files.",
            condition=condition,
        )
    if full := NO_SPACE.search(text):
        return QueryInterrupted(
            f"The query could not write: {full[0]}.",
            remedy="Make room; the next try goes on from the last committed batch.",
            condition=condition,
        )
    unreadable = UNREADABLE.search(text)
    if unreadable and not any(stumble in text for stumble in STUMBLES):
        file = disk_path(unreadable[1])
        return FileUnreadable(
            f"{file} cannot be read as the spec says: {_last(text)}",
            remedy="Put the whole file in its place, or fix the spec; then try again.",
            file=file,
            condition=condition,
        )
    # The analyser refuses a plan for ever, also where it gives no SQLSTATE (continuous queries).
    planned = isinstance(error, AnalysisException)
    if planned or state.startswith(HOPELESS) or any(word in text for word in HOPELESS_TEXTS):
        return QueryFailed(
            f"The query failed with {condition}: {first}",
            remedy="Fix the transform, the spec or the input file; then try again.",
            condition=condition,
        )
    return QueryInterrupted(
        f"The query was interrupted with {condition}: {first}",
        remedy="The next try carries on from the last committed batch.",
        if_again=None
        if is_outage(text)
        else "Fix the transform, the spec or the input file; then try again.",
        condition=condition,
    )


def _new_fields(text: str, condition: str) -> NewFields:
    """The error of `engine.sources.new_fields`, from what Spark says of it."""
    data, _ = json.JSONDecoder().raw_decode(text.partition(NEW_FIELDS)[2])
    origin = data.get("origin", "")
    place = str(disk_path(origin)) if origin.startswith("file:") else origin
    return NewFields(
        f"{place} has {', '.join(data['fields'])}, which sources.*.schema does not name, and "
        "new_fields is refuse.",
        remedy="Add them to the schema (tidemill schema infer proposes types), or set new_fields: "
        "ignore or {rescue: COLUMN}; the next run reads the batch again.",
        origin=place,
        fields=data["fields"],
        condition=condition,
    )


def said(error: PySparkException) -> str:
    """What Spark says of an error, without the plan it was found in."""
    return _cut(str(error))


def _last(text: str) -> str:
    """The innermost error alone."""
    return _cut(text.rpartition(" Caused by: ")[2])


def _shortened(text: str) -> str:
    """The first error and the last, which is the one to fix, in some 600 characters."""
    causes = [_cut(_without_trace(cause)) for cause in text.split(" Caused by: ")]
    return " Caused by: ".join(dict.fromkeys((causes[0], causes[-1])))


def _cut(cause: str) -> str:
    """An error without the plan that Spark puts behind it, and not in the middle of a word."""
    return shorten(PLAN.split(cause)[0], 300, placeholder=" …")


def _without_trace(cause: str) -> str:
    """An error of a Python worker without the lines of code that led to it."""
    head, *traces = cause.split(TRACEBACK)
    lines = [line for line in "".join(traces[-1:]).splitlines() if line and not line[0].isspace()]
    return f"{head}{lines[0]}" if lines else cause


def _all_of(error: PySparkException) -> tuple[str, str, str]:
    """Condition and SQLSTATE of the innermost error that has them, and what all of them say."""
    condition, state, texts = type(error).__name__, "", []
    for cause, words in causes(error):
        texts.append(words)
        if found := cause.getCondition():
            condition, state = found, cause.getSqlState() or ""
    text = " Caused by: ".join(texts)
    inner = CONDITION.findall(text)
    if not state and inner:
        condition, state = inner[-1]
    return condition, state, text


def query_error(query: StreamingQuery) -> TidemillError | None:
    """The query's error as one of ours, or None if it ended well."""
    error = query.exception()
    if error is None:
        return None
    return callback_errors.take(query.name or "") or from_spark(error)
