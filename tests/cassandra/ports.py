"""Ports that no other cluster of this machine uses, also while their nodes are down.

A port is reserved by a file in the cache that names the directory of the cluster; the reservation
ends when that directory is gone. Only ports below those that the kernel gives to outgoing
connections are taken, so that a killed node finds its own free when it comes back.
"""

import contextlib
import random
import socket
from pathlib import Path

from cache import SetupError, cache_directory, locked

FIRST = 20000
LAST = 29999


def can_listen(addresses, port):
    for address in addresses:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((address, port))
            except OSError:
                return False
    return True


def _is_held(reservation, holder):
    with contextlib.suppress(FileNotFoundError):
        other = Path(reservation.read_text(encoding="utf-8"))
        return other != holder and other.is_dir()
    return False


def reserve(holder, addresses, count, wanted=None):
    """`count` ports, free on each of the addresses, for the cluster in the directory `holder`.

    wanted: the first of them, refused if another cluster or program has it.
    """
    registry = cache_directory() / "ports"
    registry.mkdir(exist_ok=True)
    holder = Path(holder).resolve()
    with locked(registry / "lock"):
        reserved = []
        candidates = random.sample(range(FIRST, LAST + 1), LAST + 1 - FIRST)
        for port in ([wanted] if wanted is not None else []) + candidates:
            if len(reserved) == count:
                break
            file = registry / str(port)
            if not _is_held(file, holder) and can_listen(addresses, port):
                file.write_text(str(holder), encoding="utf-8")
                reserved.append(port)
            elif port == wanted:
                raise SetupError(f"port {port} is taken; leave --port out for a free one")
    if len(reserved) < count:
        raise SetupError(f"no free ports between {FIRST} and {LAST}")
    return reserved


def release(holder):
    """Gives back what is reserved for the directory `holder`."""
    registry = cache_directory() / "ports"
    registry.mkdir(exist_ok=True)
    holder = str(Path(holder).resolve())
    with locked(registry / "lock"):
        for file in registry.glob("[0-9]*"):
            if file.read_text(encoding="utf-8") == holder:
                file.unlink()
