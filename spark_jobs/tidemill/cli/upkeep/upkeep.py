"""`tidemill upkeep`: every command that tidies up, over one pipeline or all."""

from tidemill.cli.screen import Csv, Json, Screen
from tidemill.cli.upkeep.options import Apply, Every, Name, chosen, tidy_up
from tidemill.cli.zones import Utc


def upkeep(
    name: Name = None,
    every: Every = False,
    apply: Apply = False,
    utc: Utc = False,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Run every command of upkeep: show what it would do, and do it with --apply.

    A pipeline that cannot be tidied up does not stop the others; the exit code is the highest of
    all.

    Examples:
      tidemill upkeep --all
      tidemill upkeep --all --apply
    """
    from tidemill.steps.upkeep.upkeep import COMMANDS

    tidy_up(chosen(name, every), COMMANDS, Screen(json, csv), apply=apply, utc=utc)
