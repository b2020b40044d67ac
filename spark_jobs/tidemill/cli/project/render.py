"""`tidemill render`: the effective spec of a pipeline, and where each line of it comes from."""

from os import path

from tidemill.cli.screen import Json, PipelineName, Screen
from tidemill.spec.catalog import find
from tidemill.spec.effective import effective
from tidemill.spec.rendered import rendered


def render(name: PipelineName, json: Json = False) -> None:
    """Print the spec that holds for a pipeline, with the file and line that each value is from.

    Examples:
      tidemill render tides
      tidemill render payments__orders --json
    """
    screen = Screen(json)
    file = find(name)
    file.load()
    lines = list(rendered(effective(file.path, name)))
    if json:
        found = [
            {
                "field": one.field,
                "text": one.text,
                "file": one.origin.path,
                "line": one.origin.line,
                "row": one.origin.row,
            }
            for one in lines
        ]
        screen.document({"pipeline": name, "lines": found})
        return
    width = max(len(one.text) for one in lines)
    for one in lines:
        place = f"{path.relpath(one.origin.path)}:{one.origin.line}"
        row = f", row {one.origin.row}" if one.origin.row else ""
        screen.line(f"{one.text:<{width}}  # {place}{row}")
