"""What Airflow's list of providers says about Tidemill."""

from typing import Any


def get_provider_info() -> dict[str, Any]:
    """The entry point `apache_airflow_provider`."""
    return {
        "package-name": "tidemill",
        "name": "Tidemill",
        "description": "Scheduled Spark streams whose files are published only after a gate.",
    }
