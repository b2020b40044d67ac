"""Checks the arguments of a transform in Python without running it."""

import ast
from collections.abc import Iterator, Sequence


def problems_of_arguments(
    module: ast.Module, inputs: Sequence[str]
) -> Iterator[tuple[int, str, str]]:
    """Line, problem and remedy, where `transform` cannot be called with its inputs.

    Args:
        module: The transform's file; a decorated function may take other arguments than it shows.
        inputs: The sources and static inputs. One is given by its place, several by their names.
    """
    functions = (one for one in module.body if isinstance(one, ast.FunctionDef))
    found = next((one for one in functions if one.name == "transform"), None)
    if found is None or found.decorator_list:
        return
    given = found.args
    places = [one.arg for one in (*given.posonlyargs, *given.args)]
    needed = {
        *places[: len(places) - len(given.defaults)],
        *(one.arg for one, default in _by_name(given) if default is None),
    }
    if len(inputs) == 1:
        fits = needed <= {*places[:1]} and bool(places or given.vararg)
    else:
        names = {one.arg for one in (*given.args, *given.kwonlyargs)}
        fits = needed <= {*inputs} and ({*inputs} <= names or given.kwarg is not None)
    if not fits:
        wanted = "rows" if len(inputs) == 1 else ", ".join(inputs)
        what = f"transform does not take the inputs {', '.join(inputs)}"
        yield found.lineno, what, f"Write: def transform({wanted}): …"


def _by_name(given: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    return zip(given.kwonlyargs, given.kw_defaults, strict=True)
