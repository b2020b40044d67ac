"""`tidemill compact`: writes small files of published Delta tables again as larger ones."""

from typing import Annotated

from typer import Option

from tidemill.cli.screen import Csv, Json, Screen
from tidemill.cli.upkeep.options import Apply, Every, Name, chosen, tidy_up
from tidemill.cli.zones import Utc
from tidemill.ledger.run_request import partition_named


def compact(
    name: Name = None,
    every: Every = False,
    partition: Annotated[
        list[str] | None,
        Option(
            "--partition",
            metavar="PARTITION",
            help="Only this one, such as year=2012 or year=2012/state=CA; may be repeated.",
        ),
    ] = None,
    apply: Apply = False,
    utc: Utc = False,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Show small files of a Delta table, and write them as larger ones with --apply.

    No row changes. Each new file holds rows of one partition; `compact` of the Delta target in the
    spec says how large it is and how its rows are sorted. Long Delta logs get a checkpoint too.

    Examples:
      tidemill compact tides
      tidemill compact tides --partition day=2026-03-01 --apply
    """
    from tidemill.steps.upkeep.compact import CompactRequest
    from tidemill.steps.upkeep.upkeep import Tidying

    request = CompactRequest(tuple(partition_named(one) for one in partition or ()))
    own = {"compact": Tidying(request.plan, request.apply)}
    tidy_up(chosen(name, every), own, Screen(json, csv), apply=apply, utc=utc)
