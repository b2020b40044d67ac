"""Options of file formats whose defaults have changed since a generation was created.

The spec is the same, and yet the same file would give other rows. A generation never continues so
by itself, because its rows would have been read in two ways. The spec has to say which one counts.
"""

from collections.abc import Iterator, Mapping

from tidemill.compatibility.change import Change, Judge
from tidemill.spec.spec import Spec


def default_changes(
    judge: Judge, born: Spec, today: Spec, then: Mapping[str, Mapping[str, str]]
) -> Iterator[Change]:
    """The changes of defaults of a spec's sources and static inputs.

    Args:
        judge: Gives the verdicts.
        born: The spec when the generation was created.
        today: The spec of today.
        then: Field -> options that were at today's defaults when the generation was created.
    """
    before = born.file_inputs
    for field, source in today.file_inputs.items():
        if field not in before or before[field].format != source.format:
            continue
        left = {one.lower() for one in before[field].options}
        for option, now in source.changed_defaults.items():
            was = then.get(field, source.rules.former_defaults)[option]
            if option.lower() in left or was == now:
                continue
            at = f"{field}.options.{option}"
            means = "it is the default that has changed, and the same file would give other rows"
            instead = f"set {at} to '{was}' to read on as before, or to '{now}' for new files"
            yield judge.not_allowed(at, was, now, means, instead)
