"""Options of file formats whose defaults have changed since a generation was created.

The spec is the same, and yet the same file would give other rows. A generation never continues so
by itself, because its rows would have been read in two ways. The spec has to say which one counts.
"""

from collections.abc import Iterator, Mapping

from tidemill.compatibility.change import Change, Judge
from tidemill.spec.sources.file import FileSource
from tidemill.spec.spec import Spec


def default_changes(
    judge: Judge, born: Spec, today: Spec, then: Mapping[str, Mapping[str, str]]
) -> Iterator[Change]:
    """The changes of defaults that a source of the spec has.

    Args:
        judge: Gives the verdicts.
        born: The spec when the generation was created.
        today: The spec of today.
        then: Source -> its options that were at today's defaults when it was created.
    """
    before = born.sources_of(FileSource)
    for name, source in today.sources_of(FileSource).items():
        if name not in before or before[name].format != source.format:
            continue
        left = {one.lower() for one in before[name].options}
        for option, now in source.changed_defaults.items():
            was = then.get(name, source.rules.former_defaults)[option]
            if option.lower() in left or was == now:
                continue
            at = f"sources.{name}.options.{option}"
            means = "it is the default that has changed, and the same file would give other rows"
            instead = f"set {at} to '{was}' to read on as before, or to '{now}' for new files"
            yield judge.not_allowed(at, was, now, means, instead)
