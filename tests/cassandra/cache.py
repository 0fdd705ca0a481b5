"""Where the server, the driver and the reserved ports are kept between runs."""

import contextlib
import fcntl
import os
import shutil
from pathlib import Path

CASSANDRA_VERSION = "5.0.8"


class SetupError(Exception):
    """Something is missing or went wrong before a test began; the text says what to do."""


def cache_directory():
    """${CISTERN_CASSANDRA_CACHE}, or a directory of ours in the user's cache; made if absent."""
    named = os.environ.get("CISTERN_CASSANDRA_CACHE")
    if named:
        directory = Path(named)
    else:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        directory = Path(home) / "cistern" / f"cassandra-{CASSANDRA_VERSION}"
    directory.mkdir(parents=True, exist_ok=True)
    return directory.resolve()


@contextlib.contextmanager
def locked(path):
    """Holds the lock file; a second run waits here until the first is done or dead."""
    with open(path, "a", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build_once(directory, is_complete, build):
    """The directory, built by build(partial) unless it is complete already.

    It appears under its name only when it is whole: what was interrupted is thrown away. Two runs
    at a time do not collide: the second finds what the first has built.
    """
    if is_complete(directory):
        return directory
    with locked(directory.with_name(directory.name + ".lock")):
        if is_complete(directory):
            return directory
        partial = directory.with_name(directory.name + ".partial")
        for leftover in (partial, directory):
            shutil.rmtree(leftover, ignore_errors=True)
        partial.mkdir()
        build(partial)
        partial.rename(directory)
    return directory
