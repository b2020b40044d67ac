"""What Airflow's list of providers says about Tidemill."""

from collections.abc import Iterator
from typing import Any

SECTION = "tidemill"
ABOUT = "Tidemill's pipelines. An environment variable of the same meaning comes before an option."
# Option -> what it is, and an example.
OPTIONS = {
    "root": (
        "The folder in which everything about a pipeline is kept. Variable: TIDEMILL_ROOT.",
        "/srv/tidemill",
    ),
    "projects": (
        "Folders with pipelines, separated like PATH. Variable: TIDEMILL_PROJECTS.",
        "/srv/feeds",
    ),
    "examples": (
        "Which of the shipped examples Airflow shows: names with commas between them, or `all`. "
        "Variable: TIDEMILL_EXAMPLES.",
        "word_count",
    ),
    "python": (
        "The Python of the environment with tidemill[engine], which runs the steps. Without it "
        "they run in Airflow's own environment.",
        "/opt/tidemill/bin/python",
    ),
}


def get_provider_info() -> dict[str, Any]:
    """The entry point `apache_airflow_provider`."""
    return {
        "package-name": "tidemill",
        "name": "Tidemill",
        "description": "Scheduled Spark streams whose files are published only after a gate.",
        "config": {SECTION: {"description": ABOUT, "options": dict(_options())}},
    }


def _options() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, (about, example) in OPTIONS.items():
        yield (
            name,
            {
                "description": about,
                "version_added": "0.1.0",
                "type": "string",
                "example": example,
                "default": "",
            },
        )
