"""Names that a database would cut or refuse are found before it is asked."""

from __future__ import annotations

import pytest

from tidemill.spec.database_names import unfit_for_mariadb, unfit_for_postgres


@pytest.mark.parametrize(
    ("name", "fits_postgres", "fits_mariadb"),
    [
        ("amount", True, True),
        ("two words", True, True),
        ("", False, False),
        ("a\0b", False, False),
        ("ä" * 31, True, True),
        ("ä" * 32, False, True),
        ("a" * 64, False, True),
        ("a" * 65, False, False),
        ("ends with a space ", True, False),
        ("\U0001f30a", True, False),
    ],
)
def test_a_name_fits_or_not(name: str, fits_postgres: bool, fits_mariadb: bool) -> None:
    assert (unfit_for_postgres(name) is None, unfit_for_mariadb(name) is None) == (
        fits_postgres,
        fits_mariadb,
    )
