"""Whether files of a format can hold what a schema says."""

from collections.abc import Mapping

from tidemill.contract.syntax.ddl import DdlType
from tidemill.spec.formats.rules import FormatRules

NESTED = ("array", "map", "struct")


def unfit_schema(rules: FormatRules, types: Mapping[str, DdlType]) -> str | None:
    """The sentence on a column that files of a format cannot hold; None where all fit.

    Args:
        types: Column -> its type.
    """
    keyed = _map_without_text_keys(types) if rules.text_keys else None
    if keyed:
        return (
            f"column '{keyed}' has a map whose keys are not text, and {rules.name} has text "
            "keys only; write map<string, …> and cast in the transform"
        )
    nested = next((n for n, kind in types.items() if kind.name in NESTED), None)
    if rules.flat and nested:
        return (
            f"column '{nested}' is nested, and {rules.name} has no such values; write string, "
            "and from_json(…) in the transform"
        )
    if rules.one_text and not any(kind.name == "string" for kind in types.values()):
        return f"{rules.name} has one string column, such as 'value string', beside partitions"
    return None


def _map_without_text_keys(types: Mapping[str, DdlType]) -> str | None:
    """The first column with a map in it that has other keys than texts; None where none has."""
    return next((name for name, kind in types.items() if _other_keys(kind)), None)


def _other_keys(kind: DdlType) -> bool:
    if kind.keys is not None and kind.keys.name != "string":
        return True
    inner = (kind.items, *kind.fields.values())
    return any(_other_keys(one) for one in inner if one is not None)
