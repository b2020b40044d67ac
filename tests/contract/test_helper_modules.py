"""Modules beside a transform: found, private to each load, and sent to executors by value."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pyspark import cloudpickle

from tidemill.compatibility.code_hash import hash_of_codes
from tidemill.compatibility.creation_snapshot import helpers_of
from tidemill.contract.helper_modules import helper_files
from tidemill.contract.user_code import load_module
from tidemill.ledger.generation_note import hash_of_file

TRANSFORM = """
import json
import rates
from money.rounding import cents


def price(amount):
    return cents(rates.doubled(amount))


def later():
    import lazy

    return lazy.NAME, json.dumps(1)
"""
FILES = {
    "orders.py": TRANSFORM,
    "rates.py": "from factors import FACTOR\n\n\ndef doubled(one):\n    return one * FACTOR\n",
    "factors.py": "FACTOR = 2\n",
    "lazy.py": "NAME = 'lazy'\n",
    "money/__init__.py": "",
    "money/rounding.py": "from .places import TWO\n\n\ndef cents(x):\n    return round(x, TWO)\n",
    "money/places.py": "TWO = 2\n",
    # Neither is imported: one is of another transform, the other is Python's own.
    "unused.py": "raise SystemExit\n",
    "json.py": "raise SystemExit\n",
}
IN_A_WORKER = "import pickle, sys; print(pickle.load(sys.stdin.buffer)(1.239))"


@pytest.fixture
def transform(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path / "orders.py"


def test_what_is_imported_beside_it_is_found_with_what_that_imports(transform: Path) -> None:
    assert set(helper_files(transform)) == set(FILES) - {"orders.py", "unused.py", "json.py"}


def test_a_function_that_uses_them_runs_in_a_process_that_has_no_such_files(
    transform: Path,
) -> None:
    module = load_module("tidemill_transform_orders", transform)
    assert (module.price(1.239), module.later()) == (2.48, ("lazy", "1"))
    assert {"rates", "factors", "money", "lazy"}.isdisjoint(sys.modules)

    sent = cloudpickle.dumps(module.price)  # type: ignore[no-untyped-call]
    ran = subprocess.run(
        [sys.executable, "-c", IN_A_WORKER], input=sent, capture_output=True, cwd="/", check=True
    )

    assert ran.stdout.strip() == b"2.48"


def test_a_changed_helper_counts_at_the_next_load(transform: Path) -> None:
    assert load_module("first", transform).price(1) == 2
    (transform.parent / "factors.py").write_text("FACTOR = 3\n")
    assert load_module("second", transform).price(1) == 3


def test_a_helper_is_a_part_of_the_code_and_its_comments_are_none(transform: Path) -> None:
    def hashes() -> tuple[str, str]:
        code = hash_of_codes(transform.read_bytes(), ".py", helpers_of(transform))
        return hash_of_file(transform), code

    before = hashes()
    (transform.parent / "factors.py").write_text("# Twice.\nFACTOR = 2\n")
    commented = hashes()
    (transform.parent / "factors.py").write_text("FACTOR = 3\n")
    changed = hashes()
    (transform.parent / "unused.py").write_text("")

    assert commented[0] != before[0]
    assert commented[1] == before[1]
    assert changed[1] != before[1]
    assert hashes() == changed


def test_a_transform_without_helpers_has_the_hash_that_it_had(tmp_path: Path) -> None:
    import hashlib

    (tmp_path / "plain.py").write_text("import json\n")
    assert hash_of_file(tmp_path / "plain.py") == hashlib.sha256(b"import json\n").hexdigest()
