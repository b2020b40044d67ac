"""What a spec says of its columns, as the readers of a table find it."""

from collections.abc import Mapping

import pyarrow as pa


def described(schema: pa.Schema, descriptions: Mapping[str, str], key: str) -> pa.Schema:
    """The columns with their descriptions.

    Args:
        descriptions: Column -> text.
        key: The key in a column's metadata under which a table format looks for them.
    """
    return pa.schema(
        [
            field.with_metadata({**(field.metadata or {}), key: text})
            if (text := descriptions.get(field.name))
            else field
            for field in schema
        ]
    )
