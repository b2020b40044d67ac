"""A query's error about a framed value is told from its text, as Spark gives it back."""

from __future__ import annotations

from tidemill.engine.frame_errors import (
    UNFIT,
    UNSEEN,
    SchemaIdUnseen,
    WriterSchemaUnfit,
    frame_error,
)

SPARK = (
    "[STREAM_FAILED] Query [id = 1] terminated with exception: Job aborted. SQLSTATE: XXKST "
    "Caused by: [USER_RAISED_EXCEPTION] {} SQLSTATE: P0001\n\tat org.apache.spark.Some.method"
)


def test_an_id_that_the_registry_was_not_asked_for_is_told() -> None:
    error = frame_error(SPARK.format(UNSEEN.format(conn_id="schemas") + "70001"))
    assert isinstance(error, SchemaIdUnseen)
    assert error.transient
    assert error.data == {"schema_id": 70_001, "conn_id": "schemas"}


def test_a_schema_that_does_not_fit_is_told_with_subject_and_field() -> None:
    said = UNFIT.format(
        schema_id=7, subject="shop.orders-value", field="address.street", reason="it is 'long'"
    )
    error = frame_error(SPARK.format(said))
    assert isinstance(error, WriterSchemaUnfit)
    assert not error.transient
    assert error.data == {
        "schema_id": 7,
        "subject": "shop.orders-value",
        "field": "address.street",
        "reason": "it is 'long'",
    }


def test_another_error_of_a_transform_is_left_alone() -> None:
    assert frame_error(SPARK.format("a reason of the transform's own")) is None
