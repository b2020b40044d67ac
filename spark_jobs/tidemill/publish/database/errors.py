"""Database errors as Tidemill's, without passwords and without values of rows."""

from tidemill.contract.errors import Refused, TransientError, UsageError
from tidemill.publish.target import TargetUnreachable


class DatabaseRefused(Refused):
    """The database would not do it; carries `target` and the driver's `state`."""


class DatabaseBusy(TransientError):
    """Somebody else holds a lock; carries `target` and the driver's `state`."""


class NameUnfit(UsageError):
    """A column's name is not one that the database can have; carries `name_given` and `why`."""


def refused(target: str, said: str, state: object) -> DatabaseRefused:
    return DatabaseRefused(
        f"{target}: the database refused: {said}",
        remedy="Nothing was published to it; fix its table, its rights or the transform.",
        target=target,
        state=state,
    )


def busy(target: str, said: str, state: object) -> DatabaseBusy:
    return DatabaseBusy(
        f"{target}: {said}",
        remedy="The next try may find it free.",
        target=target,
        state=state,
    )


def unreachable(target: str, said: str) -> TargetUnreachable:
    return TargetUnreachable(
        f"{target} cannot be reached: {said}",
        remedy="The next run brings it up to date; check server and connection.",
        target=target,
    )


def name_unfit(name: str, why: str) -> NameUnfit:
    return NameUnfit(
        f"'{name[:80]}' cannot be the name of a column: {why}.",
        remedy="Rename it in the transform.",
        name_given=name,
        why=why,
    )
