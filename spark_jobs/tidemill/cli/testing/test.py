"""`tidemill test`: the tests that users write beside their pipelines."""

from dataclasses import asdict
from typing import Annotated

from typer import Argument, Exit

from tidemill.cli.completion import pipelines
from tidemill.cli.screen import Json, Screen
from tidemill.contract.counted import counted
from tidemill.contract.errors import ExitCode

Names = Annotated[
    list[str] | None,
    Argument(
        metavar="NAME",
        help="The pipelines.",
        show_default="all that have tests",
        autocompletion=pipelines,
    ),
]


def test(names: Names = None, json: Json = False) -> None:  # noqa: PT028 - a command
    """Run the tests of pipelines: given rows, expected rows; needs Spark, and no data.

    Examples:
      tidemill test            # every pipeline with a file tests/NAME.yaml
      tidemill test tides
    """
    from tidemill.steps.read_only.pipeline_tests.run import pipelines_with_tests, run_tests

    screen = Screen(json)
    results = []
    for name in names or pipelines_with_tests():
        with screen.busy(f"testing {name} …"):
            for result in run_tests(name, screen.line):
                results.append(result)
                screen.line(f"{'FAILED' if result.failures else 'passed'}  {name}: {result.name}")
                for failure in result.failures:
                    screen.line(f"        {failure}")
    failed = sum(bool(result.failures) for result in results)
    if json:
        screen.document([asdict(result) for result in results])
    else:
        screen.line(f"{counted(len(results), 'test')}, {failed} failed.")
    raise Exit(int(ExitCode.FAILED if failed else ExitCode.DONE))
