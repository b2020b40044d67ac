"""`tidemill vacuum`: removes files that neither readers nor later runs need."""

from tidemill.cli.screen import Csv, Json, Screen
from tidemill.cli.upkeep.options import Apply, Every, Name, chosen, tidy_up
from tidemill.cli.zones import Utc


def vacuum(
    name: Name = None,
    every: Every = False,
    apply: Apply = False,
    utc: Utc = False,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Show files that neither readers nor later runs need, and remove them with --apply.

    Among them are files of killed processes, old leases and the folders of old runs; `retention` in
    the spec says how old. Nothing that a log, a record or an open decision names is removed.

    Examples:
      tidemill vacuum tides
      tidemill vacuum tides --apply
      tidemill vacuum --all --json
    """
    from tidemill.steps.upkeep.upkeep import COMMANDS

    own = {"vacuum": COMMANDS["vacuum"]}
    tidy_up(chosen(name, every), own, Screen(json, csv), apply=apply, utc=utc)
