"""The hash of a transform's code, which comments and line breaks do not change."""

import ast
import hashlib
from collections.abc import Collection, Mapping

# What Spark's sinks call; all else belongs to the transform, or to both.
OF_THE_TRANSFORM = frozenset({"transform"})


def hash_of_code(content: bytes, suffix: str, without: Collection[str] = ()) -> str:
    """The hash of code, whatever its layout.

    Args:
        suffix: `.py`; anything else is taken as it is.
        without: Functions and classes of its top level that are left out.
    """
    try:
        module = ast.parse(content) if suffix == ".py" else None
    except (SyntaxError, ValueError):
        module = None
    if module is None:
        return hashlib.sha256(content).hexdigest()
    named = (ast.FunctionDef, ast.ClassDef)
    module.body = [n for n in module.body if not (isinstance(n, named) and n.name in without)]
    for node in ast.walk(module):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            _drop_docstring(node)
    return hashlib.sha256(ast.dump(module).encode()).hexdigest()


def hash_of_codes(content: bytes, suffix: str, helpers: Mapping[str, str]) -> str:
    """The hash of a transform and of the modules that it imports, whatever their layout.

    Args:
        helpers: Path beside it -> the code of such a module.
    """
    own = hash_of_code(content, suffix)
    if not helpers:
        return own
    each = (f"{name} {hash_of_code(code.encode(), '.py')}" for name, code in helpers.items())
    return hashlib.sha256("\n".join((own, *each)).encode()).hexdigest()


def _drop_docstring(
    node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef,
) -> None:
    if ast.get_docstring(node, clean=False) is not None:
        node.body = node.body[1:]
