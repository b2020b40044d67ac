"""Records that expired unread: refused with their range, passed over as a person accepted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from tests.servers.kafka import Broker
from tests.support.pipelines.kafka_pipeline import KafkaPipeline
from tests.support.remedies import carry_out
from tidemill.cli.app import app
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.contract.report import Outcome
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.losses import Losses
from tidemill.spark_logs.offset_ranges import Range
from tidemill.steps.decisions.accept_loss import LossChanged, accept_losses, find_losses

if TYPE_CHECKING:
    from tidemill.contract.report import Report


@pytest.fixture
def mill(
    tmp_path: Path, broker: Broker, spark: object, monkeypatch: pytest.MonkeyPatch
) -> KafkaPipeline:
    """A pipeline that has published the orders 0 to 9 of one partition."""
    mill = KafkaPipeline(tmp_path, broker, partitions=1, source={"maxOffsetsPerTrigger": 4})
    for name in ("AIRFLOW_CONN_TIDEMILL_KAFKA", "TIDEMILL_ROOT", "TIDEMILL_PROJECTS"):
        monkeypatch.setenv(name, mill.environ[name])
    mill.produce_orders(0, 10)
    assert mill.run("first")["publish"].outcome is Outcome.DONE
    return mill


def tidemill(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    return result.exit_code, result.stdout


def expire(mill: KafkaPipeline, before: int) -> None:
    mill.broker.delete_records(mill.topic, 0, before)


def refused(report: Report) -> list[tuple[int, int]]:
    """The ranges of the partition that a step is refused for."""
    assert report.error is not None
    assert (report.outcome, report.error["code"]) == (Outcome.REFUSED, "RecordsExpired")
    return [(one["first"], one["until"]) for one in report.error["data"]["ranges"]]


def losses(mill: KafkaPipeline) -> Losses:
    return Losses(mill.layout, FIRST_GENERATION, "orders")


@pytest.mark.remedy("RecordsExpired")
def test_a_loss_is_refused_accepted_and_passed_over_exactly(mill: KafkaPipeline) -> None:
    mill.produce_orders(10, 20)
    expire(mill, 17)
    assert refused(mill.run("refused")["doctor"]) == [(10, 17)]
    assert refused(mill.step("ingest", "without-doctor")) == [(10, 17)]

    accept = ("accept-loss", "orders", "--reason", "the weekend", "--by", "Ada")
    code, said = tidemill(*accept, "--json")
    assert (code, json.loads(said)["code"]) == (2, "Unconfirmed")
    assert losses(mill).all() == []
    code, said = tidemill(*accept, "--yes", "--json")
    assert code == 0
    (accepted,) = json.loads(said)["accepted"]
    gone = {"topic": mill.topic, "partition": 0, "first": 10, "until": 17}
    assert (accepted["ranges"], accepted["records"]) == ([gone], 7)
    assert (accepted["by"], accepted["reason"]) == ("Ada", "the weekend")

    before = Ledger(mill.layout, FIRST_GENERATION).latest()
    assert mill.run("after")["publish"].outcome is Outcome.DONE
    mill.assert_orders_but(30, 10, 17)
    passed = losses(mill).passed(1)
    assert passed is not None
    assert (passed.batch, passed.run_id) == (before + 1, "after")
    (batch,) = Ledger(mill.layout, FIRST_GENERATION).batches(before + 1, before + 1)
    assert batch.offsets["orders"] == {mill.topic: {"0": 17}}
    assert (batch.rows, batch.rejected) == (0, 0)

    # It was for that range: what is gone after it is refused as before.
    mill.produce_orders(30, 10)
    expire(mill, 33)
    assert refused(mill.run("again")["doctor"]) == [(30, 33)]


@pytest.mark.remedy("LossChanged")
def test_what_expires_after_the_acceptance_is_refused_again(mill: KafkaPipeline) -> None:
    mill.produce_orders(10, 20)
    expire(mill, 12)
    shown = find_losses(mill.pipeline)
    tidemill("accept-loss", "orders", "--reason", "the weekend", "--yes")
    expire(mill, 15)
    assert refused(mill.run("more")["doctor"]) == [(10, 15)]
    assert refused(mill.step("ingest", "more")) == [(10, 15)]
    with pytest.raises(LossChanged) as error:
        accept_losses(mill.pipeline, shown, by="Ada", reason="r", run_id="late")
    assert [one["until"] for one in error.value.gone] == [15]
    tidemill("accept-loss", "orders", "--reason", "the weekend, all of it", "--yes")
    assert mill.run("after")["publish"].outcome is Outcome.DONE
    mill.assert_orders_but(30, 10, 15)
    assert [loss.ranges for loss in losses(mill).all()] == [
        (Range(topic=mill.topic, partition=0, first=10, until=end),) for end in (12, 15)
    ]


@pytest.mark.remedy("NothingLost")
def test_nothing_lost_is_nothing_to_accept(mill: KafkaPipeline) -> None:
    code, said = tidemill("accept-loss", "orders", "--reason", "r", "--yes", "--json")
    assert (code, json.loads(said)["code"]) == (2, "NothingLost")
    mill.produce_orders(10, 1)
    carry_out(mill, json.loads(said)["remedy"], "run")


@pytest.mark.parametrize("kept", ["offsets", "nothing"])
def test_a_driver_that_dies_while_it_passes_over_a_loss_is_made_up_for(
    mill: KafkaPipeline, monkeypatch: pytest.MonkeyPatch, kept: str
) -> None:
    from tidemill.engine.run import pass_over_loss

    last = Ledger(mill.layout, FIRST_GENERATION).latest()
    mill.produce_orders(10, 10)
    expire(mill, 14)
    tidemill("accept-loss", "orders", "--reason", "the weekend", "--yes")

    def die(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        # After the plan is written, and after the batch is committed but not noted.
        patched.setattr(pass_over_loss, "_run_once" if kept == "offsets" else "Losses", die)
        with pytest.raises(KeyboardInterrupt):
            mill.step("ingest", "killed")
    assert mill.run("after")["publish"].outcome is Outcome.DONE
    mill.assert_orders_but(20, 10, 14)
    mill.produce_orders(20, 1)
    assert mill.run("later")["publish"].outcome is Outcome.DONE
    passed = losses(mill).passed(1)
    assert passed is not None
    assert passed.batch == last + 1


def test_a_batch_that_was_planned_before_its_records_expired_is_planned_anew(
    mill: KafkaPipeline,
) -> None:
    mill.produce_orders(10, 10)
    last = Ledger(mill.layout, FIRST_GENERATION).latest()
    offsets = mill.checkpoint / "offsets"
    text = (offsets / str(last)).read_text().replace('"0":10', '"0":18')
    (offsets / str(last + 1)).write_text(text)
    expire(mill, 14)
    assert refused(mill.run("refused")["doctor"]) == [(10, 14)]
    tidemill("accept-loss", "orders", "--reason", "the weekend", "--yes")
    assert mill.run("after")["publish"].outcome is Outcome.DONE
    mill.assert_orders_but(20, 10, 14)


def test_records_that_expire_before_a_first_batch_are_passed_over_too(
    tmp_path: Path, broker: Broker, spark: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    mill = KafkaPipeline(tmp_path, broker, partitions=1)
    for name in ("AIRFLOW_CONN_TIDEMILL_KAFKA", "TIDEMILL_ROOT", "TIDEMILL_PROJECTS"):
        monkeypatch.setenv(name, mill.environ[name])
    # Its driver died after it had noted where to begin.
    noted = mill.checkpoint / "sources" / "orders" / "0"
    noted.parent.mkdir(parents=True)
    noted.write_bytes(b'\0v1\n{"%s":{"0":0}}' % mill.topic.encode())
    mill.produce_orders(0, 10)
    expire(mill, 4)
    assert refused(mill.run("refused")["doctor"]) == [(0, 4)]
    tidemill("accept-loss", "orders", "--reason", "the weekend", "--yes")
    assert mill.run("after")["publish"].outcome is Outcome.DONE
    mill.assert_orders(10, first=4)
    passed = losses(mill).passed(1)
    assert passed is not None
    assert passed.batch is None
