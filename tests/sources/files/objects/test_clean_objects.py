"""Objects are put away in their store once consumers see their rows, and never another object."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.servers.flaky_http import Fault, FlakyHttp
from tests.servers.s3 import S3
from tests.sources.files.objects.conftest import Deliveries, deliveries_of
from tests.support.histories.history_builder import rows
from tidemill.ledger.input_file import InputFile
from tidemill.sources.files.clean_source import located
from tidemill.sources.files.objects import put_away

Open = Callable[..., Deliveries]
ONE, OTHER = b"id,at\n1,\n", b"id,at\n2,\n"


@pytest.fixture
def cleaning(s3: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    """Opens deliveries whose objects are cleaned."""

    def opened(clean: str, more: str = "", endpoint: str | None = None) -> Deliveries:
        found = deliveries_of(s3, tmp_path, more, endpoint, clean=clean)
        for name, value in found.environ.items():
            monkeypatch.setenv(name, value)
        return found

    return opened


def read(deliveries: Deliveries, name: str, content: bytes = ONE) -> Path:
    """Deliver an object, copy it, and read the copy in a batch of its own."""
    deliveries.put(name, content)
    deliveries.fetch()
    copy = deliveries.copies / name
    deliveries.history.batch(rows(1), inputs=[copy])
    return copy


def publish(deliveries: Deliveries) -> Any:
    """Pass what was read; how many objects were archived, deleted and kept."""
    deliveries.history.judge(deliveries.history.seal().increment)
    return deliveries.history.publish().facts["input"]


def objects(deliveries: Deliveries) -> dict[str, bytes]:
    return deliveries.server.objects(deliveries.bucket)


def test_an_object_is_deleted_once_its_rows_are_published_and_its_copy_stays(
    cleaning: Open,
) -> None:
    deliveries = cleaning("delete")
    copy = read(deliveries, "day=1/ü 100%.csv")
    deliveries.put("waits.csv")
    assert publish(deliveries) == {"archived": 0, "deleted": 1, "kept": 0}
    assert list(objects(deliveries)) == ["orders/waits.csv"]
    assert copy.read_bytes() == ONE
    assert deliveries.probe().problems == ()


@pytest.mark.parametrize("verdict", [None, "held"])
def test_an_object_whose_rows_nobody_sees_yet_stays(
    cleaning: Open, verdict: Literal["held"] | None
) -> None:
    deliveries = cleaning("delete")
    read(deliveries, "a.csv")
    sealed = deliveries.history.seal()
    if verdict:
        deliveries.history.judge(sealed.increment, verdict)
    deliveries.history.publish()
    assert list(objects(deliveries)) == ["orders/a.csv"]


def test_an_object_is_moved_to_the_archive_under_its_key(cleaning: Open) -> None:
    deliveries = cleaning("archive")
    read(deliveries, "day=1/a.csv")
    assert publish(deliveries) == {"archived": 1, "deleted": 0, "kept": 0}
    assert objects(deliveries) == {"done/day=1/a.csv": ONE}


@pytest.mark.parametrize("clean", ["delete", "archive"])
def test_an_object_that_was_replaced_since_stays(cleaning: Open, clean: str) -> None:
    deliveries = cleaning(clean)
    read(deliveries, "a.csv")
    deliveries.put("a.csv", OTHER)
    assert publish(deliveries) == {"archived": 0, "deleted": 0, "kept": 1}
    assert objects(deliveries) == {"orders/a.csv": OTHER}
    assert deliveries.history.publish().facts["input"]["kept"] == 0


def test_an_object_that_is_replaced_in_the_middle_of_the_archiving_stays(
    cleaning: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    deliveries = cleaning("archive")
    read(deliveries, "a.csv")
    write = put_away._write

    def then_replaced(*given: Any) -> None:
        write(*given)
        deliveries.put("a.csv", OTHER)

    monkeypatch.setattr(put_away, "_write", then_replaced)
    assert publish(deliveries)["kept"] == 1
    assert objects(deliveries) == {"done/a.csv": ONE, "orders/a.csv": OTHER}


def test_another_object_in_the_archive_is_not_written_over(cleaning: Open) -> None:
    deliveries = cleaning("archive")
    read(deliveries, "a.csv")
    deliveries.server.put(deliveries.bucket, "done/a.csv", OTHER)
    assert publish(deliveries)["kept"] == 1
    assert objects(deliveries) == {"done/a.csv": OTHER, "orders/a.csv": ONE}


@pytest.mark.parametrize("at", ["_write", "delete"])
def test_a_run_that_is_killed_in_between_is_finished_by_the_next(
    cleaning: Open, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    deliveries = cleaning("archive")
    read(deliveries, "a.csv")
    step = getattr(put_away, at)

    def dies_after(*given: Any) -> None:
        step(*given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(put_away, at, dies_after)
        with pytest.raises(KeyboardInterrupt):
            publish(deliveries)
    assert deliveries.history.publish().facts["input"]["archived"] == 1
    assert objects(deliveries) == {"done/a.csv": ONE}
    assert deliveries.history.publish().facts["input"]["archived"] == 0


def test_requests_that_fail_and_answers_that_are_lost_leave_no_object_behind(
    s3: S3, cleaning: Open
) -> None:
    faults: list[Fault | None] = ["busy", "lost", None, "broken", "lost", None, "lost", "lost"]

    def fault(number: int) -> Fault | None:
        return faults[number] if number < len(faults) else None

    methods = ("HEAD", "PUT", "DELETE")
    with FlakyHttp(s3.endpoint, fault, methods).up() as proxy:
        deliveries = cleaning("archive", endpoint=proxy.endpoint)
        for number in range(3):
            read(deliveries, f"{number}.csv", ONE * (number + 1))
        assert publish(deliveries) == {"archived": 3, "deleted": 0, "kept": 0}
        assert proxy.requests > len(faults)
    assert objects(deliveries) == {f"done/{n}.csv": ONE * (n + 1) for n in range(3)}


def test_a_store_that_is_down_fails_nothing_and_is_asked_again(s3: S3, cleaning: Open) -> None:
    up = False
    with FlakyHttp(s3.endpoint, lambda _: None if up else "busy", ("DELETE",)).up() as proxy:
        deliveries = cleaning("delete", endpoint=proxy.endpoint)
        read(deliveries, "a.csv")
        assert publish(deliveries) == {"archived": 0, "deleted": 0, "kept": 1}
        assert "orders/a.csv" in objects(deliveries)
        up = True
        assert deliveries.history.publish().facts["input"]["deleted"] == 1
    assert objects(deliveries) == {}


def test_a_store_that_refuses_to_delete_is_asked_again(s3: S3, cleaning: Open) -> None:
    allowed = False

    def fault(_: int) -> Fault | None:
        return None if allowed else "forbidden"

    with FlakyHttp(s3.endpoint, fault, ("DELETE",)).up() as proxy:
        deliveries = cleaning("delete", endpoint=proxy.endpoint)
        read(deliveries, "a.csv")
        assert publish(deliveries)["kept"] == 1
        allowed = True
        assert deliveries.history.publish().facts["input"]["deleted"] == 1


def test_nothing_is_deleted_where_a_store_ignores_the_condition(s3: S3, cleaning: Open) -> None:
    with FlakyHttp(s3.endpoint, lambda _: "careless", ("DELETE",)).up() as proxy:
        deliveries = cleaning("delete", endpoint=proxy.endpoint)
        read(deliveries, "a.csv")
        assert publish(deliveries) == {"archived": 0, "deleted": 0, "kept": 1}
    assert objects(deliveries) == {"orders/a.csv": ONE}


def test_copies_and_objects_are_put_away_each_as_the_spec_says(
    cleaning: Open, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    deliveries = cleaning("archive", f", cleanSource: archive, sourceArchiveDir: {kept}")
    copy = read(deliveries, "a.csv")
    assert publish(deliveries) == {"archived": 2, "deleted": 0, "kept": 0}
    assert objects(deliveries) == {"done/a.csv": ONE}
    (file,) = deliveries.history.ledger.batches()[0].inputs
    assert isinstance(file, InputFile)
    assert located(deliveries.history.ledger, 0, file) == kept / copy.relative_to("/")


def test_objects_read_before_the_spec_asked_for_it_stay(cleaning: Open) -> None:
    deliveries = cleaning("off")
    read(deliveries, "before.csv")
    publish_before(deliveries)
    deliveries.clean("delete")
    read(deliveries, "after.csv", OTHER)
    assert publish(deliveries)["deleted"] == 1
    assert list(objects(deliveries)) == ["orders/before.csv"]


def publish_before(deliveries: Deliveries) -> None:
    """Publish while nothing is cleaned."""
    deliveries.history.judge(deliveries.history.seal().increment)
    assert "input" not in deliveries.history.publish().facts
