"""The time of a state file: one line of seconds that no change of a clock bends.

Rules:

- The time of a file begins as wall time.  From then on it runs with the machine's time since boot,
  which nobody can set, which counts suspended time too, and which all processes read alike.
- Within one boot the wall clock is not looked at: set forward, it shortens no wait; set back, it
  lengthens none.
- After a reboot as much time has passed since the file was last written to as the wall clock says,
  and never less than none.  How long the machine is up says nothing: the file may come from
  another one.
- So a wait comes out shorter than it was asked for only where a wall clock that ran ahead over a
  reboot is the only witness.
- Where the system does not tell one boot from another (all but Linux), each opening is taken for
  the first one after a reboot.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def uptime() -> float:
    """Return seconds since boot, suspended ones too; where there is no such clock, monotonic."""
    since_boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if since_boot is None else time.clock_gettime(since_boot)


def boot_id() -> str:
    """Return what tells this boot of the machine from others, "" where nothing does."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""


@dataclass(frozen=True, slots=True)
class Machine:
    """The clocks that a machine has (seconds), and the name of its current boot."""

    wall: Callable[[], float] = time.time
    uptime: Callable[[], float] = uptime
    boot_id: Callable[[], str] = boot_id


@dataclass(frozen=True, slots=True)
class Mark:
    """When a file was last written to.

    Args:
        boot_id: the boot in which that was.
        ahead: in that boot, seconds from time since boot to file time.
        seen_at: that instant in file time.
        wall_at: that instant in epoch seconds.
    """

    boot_id: str
    ahead: float
    seen_at: float
    wall_at: float


def ahead_of(mark: Mark | None, machine: Machine) -> float:
    """Return what to add to time since boot to get file time, in seconds.

    Args:
        mark: of the file; None for a new one.

    >>> machine = Machine(wall=lambda: 5000.0, uptime=lambda: 40.0, boot_id=lambda: "second")
    >>> ahead_of(None, machine) + 40.0
    5000.0
    >>> ahead_of(Mark("second", 1000.0, 1010.0, 9999.0), machine) + 40.0  # set back in this boot
    1040.0
    >>> ahead_of(Mark("first", 0.0, 4000.0, 4500.0), machine) + 40.0  # 500 s between boots
    4500.0
    >>> ahead_of(Mark("first", 0.0, 4000.0, 7000.0), machine) + 40.0  # set back between boots
    4000.0
    """
    wall, up, boot = machine.wall(), machine.uptime(), machine.boot_id()
    if mark is None:
        return wall - up
    if boot and boot == mark.boot_id:
        return mark.ahead
    return mark.seen_at + max(wall - mark.wall_at, 0.0) - up
