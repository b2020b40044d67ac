"""Errors that come from outside and pass: a network, a service or a disk that does not answer."""

import re

_OUTAGE = re.compile(
    r"timed? ?out|Timeout|Connection (?:refused|reset|closed)|ConnectException|UnknownHost"
    r"|No route to host|Broken pipe|failed to connect back|Input/output error|Stale file handle"
    r"|Too many open files|unreachable|not available",
    re.IGNORECASE,
)


def is_outage(text: str) -> bool:
    """Whether an error's text tells of an outage, which a later try may pass.

    Args:
        text: As the library raised it, with its causes.
    """
    return _OUTAGE.search(text) is not None
