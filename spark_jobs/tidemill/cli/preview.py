"""`tidemill preview`: transform and suite on a sample."""

from pathlib import Path
from typing import Annotated, Any

from typer import Exit, Option

from tidemill.cli.screen import Csv, Json, PipelineName, Screen
from tidemill.contract.counted import counted
from tidemill.main import sentence

Input = Annotated[
    list[Path],
    Option(
        "--input",
        metavar="[SOURCE=]FILE",
        help="An input file; may be repeated.",
        show_default=False,
    ),
]
Limit = Annotated[int, Option("--limit", min=1, help="Most rows of either kind to show.")]


def preview(
    name: PipelineName, input: Input, limit: Limit = 10, json: Json = False, csv: Csv = False
) -> None:
    """Try transform and suite on a sample; publishes and keeps nothing.

    Examples:
      tidemill preview tides --input feed/2026-03-01.csv
      tidemill preview ad_clicks --input clicks=clicks.json --input impressions=shown.json
    """
    from tidemill.steps.read_only.preview import preview as make

    screen = Screen(json, csv)
    with screen.busy("preview …"):
        made = make(name, input, limit, screen.line)
    if json:
        screen.document(
            {
                "pipeline": name,
                "rows": made.rows,
                "rejected": made.rejected,
                "good": made.good,
                "refused": made.refused,
                "gate": made.gate and made.gate.model_dump(mode="json"),
            }
        )
    else:
        _table(screen, counted(made.rows, "row"), made.good)
        _table(screen, f"{made.rejected:,} rejected", made.refused, aside=True)
        if made.gate is not None:
            screen.line(sentence(made.gate))
    if made.gate is not None:
        raise Exit(int(made.gate.exit_code))


def _table(
    screen: Screen, title: str, rows: tuple[dict[str, Any], ...], *, aside: bool = False
) -> None:
    if rows:
        values = [[*row.values()] for row in rows]
        screen.table(f"{title}, of which {len(rows)}", list(rows[0]), values, aside=aside)
    else:
        screen.line(title)
