"""Errors about values in Confluent's frame, told from the text that a query raised them with."""

import re

from tidemill.contract.errors import TidemillError, TransientError

UNSEEN = "tidemill: the registry of '{conn_id}' was not asked for schema id "
_UNSEEN = re.compile(UNSEEN.format(conn_id="([^']*)") + r"(\d+)")
UNFIT = "tidemill: schema id {schema_id} of subject '{subject}' does not fit at '{field}': {reason}"
_UNFIT = re.compile(UNFIT.format(schema_id=r"(\d+)", subject="(.*?)", field="(.*?)", reason="(.*)"))
# Spark's own end of an error's text.
_SQLSTATE = re.compile(r"\s*SQLSTATE: \w{5}.*")


class SchemaIdUnseen(TransientError):
    """A value has a schema id that the registry was not asked for; carries `schema_id`."""


class WriterSchemaUnfit(TidemillError):
    """Values of a writer schema cannot be read as the spec's columns.

    Carries `schema_id`, `subject`, `field` and `reason`.
    """


def frame_error(text: str) -> TidemillError | None:
    """The error about a framed value in what Spark says; None where it is about something else.

    Args:
        text: What Spark says, with its causes.
    """
    if found := _UNFIT.search(text):
        schema_id, subject, field, reason = found.groups()
        reason = _SQLSTATE.sub("", reason)
        why = f"its field '{field}': {reason}" if field else reason
        return WriterSchemaUnfit(
            f"Values with schema id {schema_id} (subject '{subject}') cannot be read by "
            f"value.schema: {why}.",
            remedy="Change value.schema: give a field the type that it was written with, or in "
            "Avro a default to one that is missing there; then run again, no record is lost.",
            schema_id=int(schema_id),
            subject=subject,
            field=field,
            reason=reason,
        )
    if found := _UNSEEN.search(text):
        conn_id, schema_id = found.groups()
        return SchemaIdUnseen(
            f"A value has schema id {schema_id}, for which the schema registry of connection "
            f"'{conn_id}' was not asked yet.",
            remedy="The next run asks it.",
            if_again="See whether the registry answers; then run the pipeline.",
            schema_id=int(schema_id),
            conn_id=conn_id,
        )
    return None
