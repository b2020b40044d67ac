"""Takes values of persons out of documents that inform people."""

import json
from pathlib import Path
from typing import Any

from tidemill.file_formats.delta_log import LOG
from tidemill.steps.upkeep.erase.condition import Condition, words_pattern
from tidemill.storage.sync import put_whole

MASK = "[erased]"


def take_out(path: Path, condition: Condition) -> None:
    """Write a document again with a mark in the place of each value.

    A file of which that does not remove all, such as a log in another encoding, is found by the
    proof at the end.
    """
    if path.suffix == ".parquet":
        # A checkpoint of a Delta log: another takes its place.
        return
    try:
        text = path.read_text(encoding="utf-8")
    except (UnicodeDecodeError, FileNotFoundError):
        return
    put_whole(path, _without(text, condition, only_info=path.parent.name == LOG))


def _without(text: str, condition: Condition, *, only_info: bool) -> str:
    pattern = words_pattern(condition.texts)

    def masked(value: Any) -> Any:
        if isinstance(value, str):
            return pattern.sub(MASK, value)
        if isinstance(value, dict):
            return {pattern.sub(MASK, name): masked(one) for name, one in value.items()}
        if isinstance(value, list):
            return [masked(one) for one in value]
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return None if is_number and pattern.fullmatch(str(value)) else value

    if only_info:
        # The files that an entry of a Delta log names, it has to name.
        lines = (json.loads(line) for line in text.splitlines())
        rest = [{k: masked(v) if k == "commitInfo" else v for k, v in one.items()} for one in lines]
        return "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in rest)
    try:
        document = json.loads(text)
    except ValueError:
        return pattern.sub(MASK, text)
    return json.dumps(masked(document), indent=1) + "\n"
