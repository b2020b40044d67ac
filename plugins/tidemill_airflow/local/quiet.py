"""Redirect everything that this process prints to a file, to keep the screen tidy."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

STANDARD = (1, 2)


@contextlib.contextmanager
def quiet(log: Path) -> Iterator[None]:
    """Within it, standard output and error end up in `log`, down to the file descriptors.

    Airflow's loggers keep the streams they found at their first line, so the streams stay.
    """
    _flush()
    kept = [os.dup(descriptor) for descriptor in STANDARD]
    try:
        with log.open("a") as output:
            for descriptor in STANDARD:
                os.dup2(output.fileno(), descriptor)
        yield
    finally:
        _flush()
        for descriptor, original in zip(STANDARD, kept, strict=True):
            os.dup2(original, descriptor)
            os.close(original)


def _flush() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
