"""The JSON Schema of specs, so that editors complete and check them.

`python -m tidemill.spec.json_schema` writes `dags/specs/spec.schema.json`; a test keeps it equal.
"""

import json
import re
from pathlib import Path
from typing import Any

from tidemill.contract.project import SHIPPED
from tidemill.spec.spec import Spec

PATH = SHIPPED / "dags" / "specs" / "spec.schema.json"


def spec_schema() -> dict[str, Any]:
    schema = _closed(Spec.model_json_schema(by_alias=True, mode="validation"))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "Tidemill pipeline spec",
    }


def _closed(schema: Any) -> Any:
    """What pydantic leaves out or says otherwise than a spec is read.

    Keys that fit no pattern are refused, `kind` is never left out where it tells models apart, and
    a default that its own pattern refuses, such as `PT30S`, is not offered.
    """
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    default, pattern = closed.get("default"), closed.get("pattern")
    if isinstance(default, str) and isinstance(pattern, str) and not re.search(pattern, default):
        del closed["default"]
    kind = closed.get("properties", {}).get("kind", {})
    if "const" in kind:
        kind.pop("default", None)
        closed["required"] = list(dict.fromkeys(["kind", *closed.get("required", [])]))
    return {**closed, "additionalProperties": False} if "patternProperties" in closed else closed


def write(path: Path = PATH) -> Path:
    path.write_text(json.dumps(spec_schema(), indent=2) + "\n", encoding="utf-8")
    return path


if __name__ == "__main__":
    write()
