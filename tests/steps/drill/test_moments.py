"""The moments that a drill chooses: the same for a seed, in the order of the run, at each step."""

from __future__ import annotations

from collections import Counter

import pytest

from tidemill.contract.report import Step
from tidemill.steps.read_only.drill.moments import STEPS, Watched, Write, choose_moments, kind_of

UUID = "3d6f7a52-8d0c-4b0f-9a77-0a3b1f6f2f11"


def watched(*paths: str) -> Watched:
    """A step that writes a file a second, and ends a second after the last."""
    writes = tuple(Write(path, float(number)) for number, path in enumerate(paths, 1))
    return Watched(writes, float(len(paths) + 1), {})


INGEST = watched(
    "checkpoints/live-0001/offsets/0",
    f"table/_live-0001/day=2026-03-01/part-00000-{UUID}.c000.snappy.parquet",
    "checkpoints/live-0001/commits/0",
    "ledger/live-0001/000000.json",
    "checkpoints/live-0001/offsets/1",
)
RUN: dict[Step, Watched] = {
    "doctor": watched("runs/drill/doctor.json"),
    "ingest": INGEST,
    "gate": watched("increments/000001/sealed.json", "increments/000001/000001.json"),
    "publish": watched("journal/000001.json", "journal/000001.delta.json"),
}


def test_a_seed_chooses_the_same_moments_each_time_and_another_seed_others() -> None:
    chosen = [choose_moments(RUN, 5, seed) for seed in (1, 1, 2, 3, 4)]
    assert chosen[0] == chosen[1]
    assert any(other != chosen[0] for other in chosen[2:])


@pytest.mark.parametrize("seed", range(5))
def test_the_steps_take_turns_and_the_moments_are_in_the_order_of_the_run(seed: int) -> None:
    moments = choose_moments(RUN, 7, seed)
    assert Counter(one.step for one in moments) == {
        "doctor": 1,
        "ingest": 2,
        "gate": 2,
        "publish": 2,
    }
    assert [one.step for one in moments] == sorted((one.step for one in moments), key=STEPS.index)
    kinds = [write.kind for write in INGEST.writes]
    places = [(kind, kinds[: place + 1].count(kind)) for place, kind in enumerate(kinds)]
    begun = [places.index((one.kind, one.count)) for one in moments if one.step == "ingest"]
    assert begun == sorted(begun)


@pytest.mark.parametrize("seed", range(5))
def test_half_of_the_kills_of_a_step_are_right_at_a_write_and_half_before_the_next(
    seed: int,
) -> None:
    delays = [one.delay for one in choose_moments({"ingest": INGEST}, 4, seed)]
    assert sorted(delay == 0 for delay in delays) == [False, False, True, True]
    assert max(delays) < 2


def test_the_second_file_of_a_kind_is_told_from_the_first() -> None:
    step = watched("offsets/0", "offsets/1", "offsets/2")
    moments = choose_moments({"ingest": step}, 3, 1)
    assert [(one.kind, one.count) for one in moments] == [("offsets/#", n) for n in (1, 2, 3)]


def test_files_that_were_there_before_the_step_are_counted() -> None:
    step = Watched((Write("journal/000003.json", 1.0),), 2.0, {"journal/#.json": 2})
    assert [one.count for one in choose_moments({"publish": step}, 1, 1)] == [3]


def test_drafts_checksums_and_signs_of_life_are_no_moments() -> None:
    step = watched("offsets/.0.crc", "lease/000001.beat", "runs/drill/spark.log", "offsets/0")
    assert {one.kind for one in choose_moments({"ingest": step}, 1, 1)} == {"offsets/#"}


def test_more_kills_than_writes_are_somewhere_within_the_step() -> None:
    moments = choose_moments({"ingest": watched("offsets/0")}, 3, 1)
    assert sorted(one.kind for one in moments) == ["", "", "offsets/#"]
    assert all(one.delay <= 2.0 for one in moments)


def test_a_kind_has_neither_ids_nor_numbers() -> None:
    assert kind_of(f"table/day=2026-03-01/part-00000-{UUID}.parquet") == (
        "table/day=#-#-#/part-#-*.parquet"
    )
