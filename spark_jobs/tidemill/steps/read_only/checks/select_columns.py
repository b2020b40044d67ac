"""The columns of a SELECT, told from the columns of its inputs without Spark."""

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from sqlglot import exp

Columns = tuple[str, ...]
# None stands for columns that are not known.
Inputs = Mapping[str, Columns | None]
# What Spark calls columns that a text need not name: of generators, windows and groups.
_UNNAMED = ("col", "key", "value", "pos", "start", "end", "window", "session_window", "id")
# They make columns of whose names only Spark knows.
_MAKE_COLUMNS = (exp.Pivot, exp.Values, exp.QueryTransform, exp.Inline, exp.JSONTable)
_MAKE_COLUMNS_BY_NAME = frozenset(
    ["inline", "inline_outer", "json_tuple", "stack", "variant_explode", "variant_explode_outer"]
)


def select_columns(query: exp.Expr, inputs: Inputs) -> Columns | None:
    """The columns of a query's rows, in order; None where only Spark knows them.

    Args:
        inputs: Table -> its columns. Tables of WITH are added to them.
    """
    known = {name.lower(): columns for name, columns in inputs.items()}
    for table in cast(list[exp.CTE], getattr(query, "ctes", [])):
        known[table.alias.lower()] = _given(table) or select_columns(table.this, known)
    if isinstance(query, exp.SetOperation):
        return select_columns(query.left, known)
    if isinstance(query, exp.Subquery):
        return select_columns(query.this, known)
    if not isinstance(query, exp.Select):
        return None
    tables = dict(_tables(query, known))
    columns: list[str] = []
    for projection in query.expressions:
        found = _of_projection(projection, tables, whole=not query.args.get("laterals"))
        if found is None:
            return None
        columns.extend(found)
    return tuple(dict.fromkeys(columns))


def _tables(query: exp.Select, known: Inputs) -> Iterator[tuple[str, Columns | None]]:
    """Alias -> columns, for what a SELECT reads itself."""
    source = query.args.get("from_") or query.args.get("from")
    joined = [join.this for join in query.args.get("joins") or ()]
    for one in [*([source.this] if source else []), *joined]:
        if isinstance(one, exp.Table) and isinstance(one.this, exp.Identifier) and not one.db:
            plain = not one.args.get("pivots") and not one.args.get("joins")
            columns = known.get(one.name.lower()) if plain else None
        elif isinstance(one, exp.Subquery) and not one.args.get("pivots"):
            columns = select_columns(one.this, known)
        else:
            columns = None
        alias = one.args.get("alias")
        given = tuple(
            column.name for column in (alias.args.get("columns") if alias else None) or ()
        )
        yield one.alias_or_name.lower(), given or columns


def _given(table: exp.Expr) -> Columns:
    """The columns that an alias names, as in `AS t(a, b)`."""
    alias = table.args.get("alias")
    return tuple(column.name for column in (alias.args.get("columns") or () if alias else ()))


def _of_projection(projection: exp.Expr, tables: Inputs, *, whole: bool) -> Sequence[str] | None:
    star = projection.this if isinstance(projection, exp.Column) else projection
    if isinstance(star, exp.Star):
        if not whole or any(
            star.args.get(part) for part in ("except_", "except", "replace", "rename")
        ):
            return None
        table = projection.table.lower() if isinstance(projection, exp.Column) else None
        columns = [tables.get(table)] if table else [*tables.values()]
        if not columns or None in columns:
            return None
        return [name for one in columns for name in one or ()]
    if isinstance(projection, exp.Alias):
        return [projection.alias]
    if isinstance(projection, exp.Aliases):
        return [alias.name for alias in projection.aliases]
    return [projection.name] if isinstance(projection, exp.Column) else None


def names_within(query: exp.Expr, inputs: Inputs) -> set[str] | None:
    """Every name that a column of a query may begin with, in lower case; None if not known."""
    called = {one.name.lower() for one in query.find_all(exp.Anonymous)}
    if query.find(*_MAKE_COLUMNS) or called & _MAKE_COLUMNS_BY_NAME or None in inputs.values():
        return None
    names = {*_UNNAMED, *inputs}
    for columns in inputs.values():
        names.update(columns or ())
    for alias in query.find_all(exp.TableAlias):
        names.update((alias.name, *(column.name for column in alias.args.get("columns") or ())))
    for one in query.find_all(exp.Alias):
        names.add(one.alias)
    for several in query.find_all(exp.Aliases):
        names.update(alias.name for alias in several.aliases)
    known = {name.lower() for name in names}
    stars = (one for one in query.find_all(exp.Column) if isinstance(one.this, exp.Star))
    tables = {table.alias_or_name.lower() for table in query.find_all(exp.Table, exp.Subquery)}
    # The fields of a struct become columns.
    if any(star.table.lower() not in tables for star in stars):
        return None
    return known


def unknown_tables(query: exp.Expr, inputs: Inputs) -> list[exp.Table]:
    """The tables that are neither inputs nor named by WITH."""
    own = {table.alias.lower() for table in query.find_all(exp.CTE)}
    known = {name.lower() for name in inputs} | own
    return [
        table
        for table in query.find_all(exp.Table)
        if isinstance(table.this, exp.Identifier)
        and not table.db
        and table.name.lower() not in known
    ]
