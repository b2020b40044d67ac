"""File modes that count for this process too, whoever runs the tests."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# linux/capability.h
VERSION = 0x20080522
DAC_OVERRIDE, DAC_READ_SEARCH = 1, 2


@contextmanager
def modes_count() -> Iterator[None]:
    """Take from root the right to read whatever the mode says, in this thread, and give it back."""
    if os.geteuid() != 0 or sys.platform != "linux":
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(VERSION, 0)
    # Two sets of effective, permitted and inheritable; only the effective ones are changed.
    before = (ctypes.c_uint32 * 6)()
    _call(libc.capget, header, before)
    without = (ctypes.c_uint32 * 6)(*before)
    without[0] &= ~(1 << DAC_OVERRIDE | 1 << DAC_READ_SEARCH)
    _call(libc.capset, header, without)
    try:
        yield
    finally:
        _call(libc.capset, header, before)


def _call(function: ctypes._NamedFuncPointer, *arguments: object) -> None:  # type: ignore[name-defined]
    if function(*arguments) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
