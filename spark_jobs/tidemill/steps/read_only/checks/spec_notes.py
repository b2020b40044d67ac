"""Notes on specs: what follows from what they say, where nothing is wrong."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from tidemill.contract.errors import SpecError, UsageError
from tidemill.contract.project import is_left_out
from tidemill.spec.catalog import spec_files
from tidemill.spec.each import is_template
from tidemill.spec.effective import name_of
from tidemill.spec.spec import Spec
from tidemill.steps.read_only.checks.backfill_notes import backfill_note
from tidemill.steps.read_only.checks.group_notes import group_note
from tidemill.steps.read_only.checks.key_notes import key_note


def spec_notes(names: Sequence[str] = (), environ: Mapping[str, str] = os.environ) -> Iterator[str]:
    """What people should know of specs that nothing is wrong with, a sentence each.

    Args:
        names: The pipelines. Where none is given, all; of the examples beside other projects, none.
    """
    templates: dict[str, dict[str, Spec]] = {}
    # A pipeline that is there twice, or a spec that does not load, is a problem, and no note.
    with suppress(UsageError):
        for one in spec_files(environ):
            if one.name in names if names else not is_left_out(one.project, environ):
                with suppress(SpecError):
                    spec = one.load(environ)
                    yield from notes_of(one.name, spec)
                    if is_template(one.path):
                        templates.setdefault(name_of(one.path), {})[one.name] = spec
    for template, specs in templates.items():
        yield from group_note(template, specs)


def notes_of(name: str, spec: Spec) -> Iterator[str]:
    """The notes on one pipeline."""
    yield from backfill_note(name, spec)
    yield from key_note(name, spec)
    if spec.given_up is not None:
        yield f"{name}: {spec.given_up}"
