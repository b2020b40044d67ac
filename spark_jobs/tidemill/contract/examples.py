"""The example pipelines of this repository, and which of them an Airflow shows.

All of them can be run at a shell. Airflow shows the demo's, and others on request, so that its list
holds a user's own pipelines.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from tidemill.contract.project import SHIPPED, Project, spec_files

SHOWN = "TIDEMILL_EXAMPLES"
DEMO = "shop_orders"
ALL = "all"

# Example -> the module of `tidemill.samples` that writes input for it; None where there is none.
EXAMPLES: dict[str, str | None] = {
    "actions_per_hour": "activity",
    "activity": "activity",
    "ad_clicks": "ad_clicks",
    "ad_clicks_inner": "ad_clicks",
    "click_revenue": "click_revenue",
    "customer_hours": "customer_hours",
    "device_signals": "devices",
    "device_totals": "devices",
    "events_kafka": None,
    "retail": None,
    "retail_daily": "retail_daily",
    "sensor_baselines": "sensors",
    "sensor_windows": "sensors",
    "shop_orders": "shop_orders",
    "unique_events": "unique_events",
    "user_sessions": "user_sessions",
    "windowed_words": "windowed_words",
    "word_count": "word_count",
    "word_count_kafka": None,
}


def shown_spec_files(environ: Mapping[str, str] = os.environ) -> Iterator[tuple[Project, Path]]:
    """Every spec file whose pipeline Airflow shows.

    Args:
        environ: For `TIDEMILL_EXAMPLES`: names with commas between them, `all`, or nothing for no
            example; the demo's where the variable is not set.

    Raises:
        UsageError: two folders hold a pipeline of the same name; after all others were given.
    """
    shown = {name.strip() for name in environ.get(SHOWN, DEMO).split(",")}
    for project, path in spec_files(environ):
        example = project.home == SHIPPED and path.stem in EXAMPLES
        if not example or ALL in shown or path.stem in shown:
            yield project, path
