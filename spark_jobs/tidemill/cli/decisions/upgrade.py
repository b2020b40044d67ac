"""`tidemill upgrade`: documents that an older version wrote, in today's format."""

from collections import Counter
from typing import Annotated

from typer import Argument

from tidemill.cli.completion import pipelines
from tidemill.cli.run import manual_run_id
from tidemill.cli.screen import Json, Screen
from tidemill.cli.write_rule import DryRun, Yes, agreed
from tidemill.contract.counted import counted
from tidemill.contract.document import FORMAT_VERSION
from tidemill.contract.layout import Layout
from tidemill.spec.catalog import find, spec_files
from tidemill.spec.root import existing_root

Names = Annotated[
    list[str] | None,
    Argument(
        metavar="[NAME]...", help="The pipelines.", show_default="all", autocompletion=pipelines
    ),
]


def upgrade(
    names: Names = None, yes: Yes = False, dry_run: DryRun = False, json: Json = False
) -> None:
    """Rewrite documents that an older version wrote in today's format; asks first.

    Examples:
      tidemill upgrade
      tidemill upgrade tides --yes
    """
    from tidemill.steps.decisions.upgrade import upgrade as upgrade_documents

    screen = Screen(json)
    for name in names or ():
        find(name)
    layouts = [
        Layout(existing_root(), name) for name in names or (one.name for one in spec_files())
    ]
    counts = {layout: _counts(layout) for layout in layouts}
    old = [layout for layout in layouts if counts[layout]]
    plan = [
        f"rewrite {counted(count, 'document')} of kind {kind} of {it.name} in format "
        f"{FORMAT_VERSION}"
        for it in old
        for kind, count in sorted(counts[it].items())
    ]
    if not agreed(screen, plan, dry_run=dry_run, yes=yes):
        return
    if not old:
        screen.line(f"every document has format {FORMAT_VERSION}: nothing to rewrite")
    done: Counter[Layout] = Counter()
    for layout in old:
        done[layout] = sum(1 for _ in upgrade_documents(layout, manual_run_id("upgrade")))
        screen.line(f"{layout.name}: {counted(done[layout], 'document')} rewritten")
    if json:
        screen.document(
            {
                "format_version": FORMAT_VERSION,
                "pipelines": [
                    {"pipeline": it.name, "old": counts[it], "rewritten": done[it]}
                    for it in layouts
                ],
            }
        )


def _counts(layout: Layout) -> Counter[str]:
    from tidemill.steps.decisions.upgrade import old_documents

    return Counter(type(document).__name__ for _, document in old_documents(layout))
