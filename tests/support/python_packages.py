"""Packages of PyPI for tests, each set in a virtual environment that is kept between runs."""

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path


class SetupError(Exception):
    """Something is missing or went wrong before a test began; the text says what to do."""


def user_cache():
    """A directory of ours in the user's cache; it need not be there yet."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "cistern"


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


def _is_complete(directory):
    return os.access(directory / "bin" / "python", os.X_OK)


def python_with(packages, statement, directory, tell, patience_s):
    """Path of a Python that has the packages, each with its version, and runs the statement.

    It stands in a virtual environment in `directory`, whose parent exists; tell() is called before
    one is made, each step of which may take patience_s.
    """
    def build(partial):
        tell()
        python = str(partial / "bin" / "python")
        for command in ([sys.executable, "-m", "venv", str(partial)],
                        [python, "-m", "pip", "install", "--quiet", "--no-input",
                         "--disable-pip-version-check", "--only-binary=:all:", *packages],
                        [python, "-c", statement]):
            try:
                done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True,
                                      text=True, check=False, timeout=patience_s)
            except subprocess.TimeoutExpired as error:
                raise SetupError(f"{packages[0]} cannot be installed: {' '.join(command[1:4])} "
                                 f"took more than {patience_s} s") from error
            if done.returncode != 0:
                raise SetupError(f"{packages[0]} cannot be installed: {' '.join(command[1:4])} "
                                 f"failed:\n{(done.stdout + done.stderr).strip()[-2000:]}")

    return str(build_once(directory, _is_complete, build) / "bin" / "python")
