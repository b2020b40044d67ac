"""The operating-system user of a process, recorded beside the name given with `--by`."""

import os
import pwd


def os_user() -> str:
    """The user of this process, by the operating system, such as `airflow (uid 50000)`."""
    uid = os.getuid()
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        # A container's user often has no name.
        return f"uid {uid}"
    return f"{name} (uid {uid})"
