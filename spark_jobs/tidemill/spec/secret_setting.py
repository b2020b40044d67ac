"""Refuses secrets in a spec: many people read the file, and settings are logged."""

import re

SECRET = re.compile(r"passw|secret|token|api_?key|credential", re.IGNORECASE)
_KEY = re.compile(r"(access|private|account|encryption)[._-]?key", re.IGNORECASE)
# Settings of which a secret's name is a part, and that say how one is got or where it is.
_NO_SECRET = re.compile(
    r"(provider|file|path|dir|location|type|class|mechanism|enabled|required|length|bits|regex|"
    r"renewal\w*|algorithm)$",
    re.IGNORECASE,
)
_USER_IN_URL = re.compile(r"\w://[^/@\s:]*:[^/@\s]+@")
# As in -Djavax.net.ssl.keyStorePassword=…, one of Java's own settings.
_GIVEN_WITHIN = re.compile(r"(passw|secret|token|credential)\w*\s*=\s*[^\s;,]", re.IGNORECASE)


def is_secret(name: str, value: object) -> bool:
    """Whether a setting holds a secret, by its name or by what its value looks like.

    Args:
        name: Such as `spark.hadoop.fs.s3a.secret.key`.
        value: Its value.
    """
    if not isinstance(value, str):
        return False
    named = SECRET.search(name) or _KEY.search(name)
    if named and not _NO_SECRET.search(name):
        return True
    return bool(_USER_IN_URL.search(value) or _GIVEN_WITHIN.search(value))
