"""Notes on keys that may be null, of which a database rejects the rows.

They are told from the spec, without Spark: what the transform leaves out is not looked at.
"""

import re
from collections.abc import Iterator

from tidemill.spec.column_types import quoted
from tidemill.spec.spec import Spec


def key_note(name: str, spec: Spec) -> Iterator[str]:
    """The sentence about a pipeline's keys; none where row rules, or no database, look at them.

    Args:
        name: The name of the pipeline.
    """
    databases = [target.name for target in spec.publish if target.upserts(spec.output.mode)]
    columns = {column for source in spec.sources.values() for column in source.columns}
    unruled = [key for key in spec.output.keys if key in columns and not _ruled(key, spec)]
    if not spec.published or not databases or not unruled:
        return
    rule = re.sub(r"\W+", "_", unruled[0], flags=re.ASCII).strip("_").lower() or "key"
    yield (
        f"{name}: {' and '.join(unruled)} of output.keys may be null unless the transform sees to "
        f"it, and {databases[0]} has no null in a key: such a row is rejected, in every target. "
        "Where that is meant, say so by a row rule: "
        f"row_rules: {{{rule}_known: {quoted(unruled[0])} IS NOT NULL}}."
    )


def _ruled(key: str, spec: Spec) -> bool:
    """Whether a row rule of each source with this column looks whether it is null."""
    named = re.compile(rf"(?<!\w){re.escape(key)}`?\s+IS\s+NOT\s+NULL\b", re.IGNORECASE)
    return all(
        any(named.search(rule) for rule in spec.row_rules_of(name).values())
        for name, source in spec.sources.items()
        if key in source.columns
    )
