"""Locks on files, which the kernel lets go of when the process ends, however it ends.

Where there are none (Windows, some network shares) nobody is kept out.
"""

from __future__ import annotations

import sys

if sys.platform != "win32":
    import fcntl


def keep_others_out(fd: int) -> None:
    """Lock an open file or folder until it is closed.

    Raises:
        BlockingIOError: another one has it.
    """
    if sys.platform == "win32":
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        pass  # no locks on this file system
