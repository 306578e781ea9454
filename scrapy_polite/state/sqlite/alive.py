"""Signs of life: one locked file per process beside a state file.

Rules:

- A process that shares a state file holds an `flock` on a file of its own, which the kernel lets go
  of when the process ends, however it ends.  A file that is free or gone is of a dead process.
- A stopped process (SIGSTOP) keeps its lock, as it may keep a fetch on the wire.
- The stores of one process share its sign; the last one to leave removes it.
- What cannot be looked at counts as alive: wait, never go.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import threading
from collections.abc import Iterator
from pathlib import Path

ENDING = ".alive"
_signs: dict[Path, Sign] = {}  # of this process, by state file
_lock = threading.Lock()


class Sign:
    """The sign of life of this process for one state file; made by `show`.

    Args:
        state: path of the state file.
    """

    def __init__(self, state: Path) -> None:
        self.name = f"{os.getpid()}-{secrets.token_hex(4)}"
        self.shown = 0  # by how many stores
        self._path = path_of(state, self.name)
        self._fd = _create(self._path)

    def keep(self) -> None:
        """Make the sign again if somebody removed it."""
        with _lock:
            if not _is_file(self._fd, self._path):
                removed, self._fd = self._fd, _create(self._path)
                os.close(removed)

    def remove(self) -> None:
        """Take the sign away: this process holds nothing any more."""
        with contextlib.suppress(OSError):
            self._path.unlink()
        self.let_go()

    def let_go(self) -> None:
        """Close the file, for instance in a forked child that is no holder."""
        os.close(self._fd)


def show(state: Path) -> Sign:
    """Show this process alive to all who share a state file; `hide` undoes one call."""
    with _lock:
        sign = _signs.get(state)
        if sign is None:
            sweep(state)
            sign = _signs[state] = Sign(state)
        sign.shown += 1
        return sign


def hide(state: Path) -> None:
    """Undo one `show`."""
    with _lock:
        sign = _signs.get(state)
        if sign is None:  # we are a forked child, which holds nothing
            return
        sign.shown -= 1
        if not sign.shown:
            del _signs[state]
            sign.remove()


def is_alive(state: Path, name: str) -> bool:
    """Return whether the process that shows a sign of this name lives."""
    with _locked(path_of(state, name), fcntl.LOCK_SH) as is_free:
        return not is_free


def is_alone(state: Path) -> bool:
    """Return whether no other store, in this process or another one, shows itself alive."""
    own = _signs.get(state)
    if own is not None and own.shown > 1:
        return False
    names = [name for name in _names(state) if own is None or name != own.name]
    return not any(is_alive(state, name) for name in names)


def sweep(state: Path) -> None:
    """Remove the signs of dead processes."""
    for name in _names(state):
        path = path_of(state, name)
        # Under its lock, or a sign that is being made could go just after it was locked.
        with _locked(path, fcntl.LOCK_EX) as is_free:
            if is_free:
                path.unlink(missing_ok=True)


def path_of(state: Path, name: str) -> Path:
    """Return the path of a sign of life."""
    return state.with_name(f"{state.name}.{name}{ENDING}")


@contextlib.contextmanager
def _locked(path: Path, how: int) -> Iterator[bool]:
    """Lock a sign of life, if it is free; yield whether it is, or is not there."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        yield isinstance(error, FileNotFoundError)
        return
    try:
        yield _lock_now(fd, how) and _is_file(fd, path)
    finally:
        os.close(fd)


def _lock_now(fd: int, how: int) -> bool:
    try:
        fcntl.flock(fd, how | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _names(state: Path) -> list[str]:
    try:
        files = [path.name for path in state.parent.iterdir()]
    except FileNotFoundError:
        return []
    start = f"{state.name}."
    files = [name for name in files if name.startswith(start) and name.endswith(ENDING)]
    return [name[len(start) : -len(ENDING)] for name in files]


def _create(path: Path) -> int:
    """Make and lock a sign; one that is swept away before it is locked is made again."""
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            if _is_file(fd, path):
                return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)


def _is_file(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except FileNotFoundError:
        return False


def _forget() -> None:
    """A forked child is a process of its own; the lock would outlive its parent in it."""
    for sign in _signs.values():
        sign.let_go()
    _signs.clear()


os.register_at_fork(after_in_child=_forget)
