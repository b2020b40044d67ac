"""Fixtures of the fault injector, for tests of the campaign."""

from tests.faults.conftest import with_faults as with_faults
