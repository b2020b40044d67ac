"""File modes: what Tidemill writes is for owner and group only."""

import os
import stat
from pathlib import Path

# Folders 0750, files 0640.
UMASK = 0o027
# The same for what Hadoop's file systems create, which give modes of their own.
HADOOP_UMASK = {"spark.hadoop.fs.permissions.umask-mode": f"{UMASK:03o}"}


def keep_from_others() -> None:
    """Have this process, and what it starts, create nothing that users outside the group can read.

    A stricter umask stays as it is.
    """
    os.umask(os.umask(UMASK) | UMASK)


def open_to_others(root: Path, home: Path) -> bool:
    """Whether users outside the group can get at what is in a folder.

    Args:
        home: A pipeline's folder in it, which may be missing yet.
    """
    try:
        through, into = (path.stat().st_mode for path in (root, home))
    except FileNotFoundError:
        return False
    return bool(through & stat.S_IXOTH and into & stat.S_IRWXO)
