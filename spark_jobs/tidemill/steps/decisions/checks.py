"""The check that every decision of a person passes."""

from tidemill.contract.errors import UsageError


class ReasonMissing(UsageError):
    """A decision without a reason or a name; carries `field`."""


def refuse_missing_reason(what: str, *, by: str, reason: str) -> None:
    """Refuse a decision without a person or a reason.

    Args:
        what: The decision, as a noun for the message.

    Raises:
        ReasonMissing: one of them is empty.
    """
    for field, value in (("reason", reason), ("by", by)):
        if not value.strip():
            raise ReasonMissing(
                f"The {what}'s {field} is empty.",
                remedy="It is kept in the pipeline's history: give it with "
                f"--{field}, in words that still mean something in a year.",
                field=field,
            )
