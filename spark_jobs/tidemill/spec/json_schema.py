"""The JSON Schema of specs, so that editors complete and check them.

`python -m tidemill.spec.json_schema` writes `dags/specs/spec.schema.json`; a test keeps it equal.
"""

import json
from pathlib import Path
from typing import Any

from tidemill.contract.project import REPOSITORY
from tidemill.spec.spec import Spec

PATH = REPOSITORY / "dags" / "specs" / "spec.schema.json"


def spec_schema() -> dict[str, Any]:
    schema = _closed(Spec.model_json_schema(by_alias=True, mode="validation"))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "Tidemill pipeline spec",
    }


def _closed(schema: Any) -> Any:
    """Refuse keys that fit no pattern: pydantic says which ones fit, and lets all others pass."""
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    return {**closed, "additionalProperties": False} if "patternProperties" in closed else closed


def write(path: Path = PATH) -> Path:
    path.write_text(json.dumps(spec_schema(), indent=2) + "\n", encoding="utf-8")
    return path


if __name__ == "__main__":
    write()
