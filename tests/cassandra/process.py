"""A server process that outlives the program that started it, known by a file.

A process number alone may have gone to a stranger since: the file holds the start time too, and
signals go through a descriptor of the process (pidfd), which cannot change its meaning.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
from pathlib import Path

PR_SET_PDEATHSIG = 1
STAT_STATE = 0         # fields of /proc/PID/stat, counted after the name
STAT_START_TICKS = 19


def stat_fields(pid):
    """The fields after the name, which may itself hold blanks; None when there is no process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return None
    return text[text.rindex(")") + 2:].split()


def die_with_parent():
    """In a child before exec: the kernel kills it when the thread that started it ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Process:
    """The process recorded in the file `record`. All methods may be called from any process."""

    def __init__(self, record):
        self.record = Path(record)
        self._child_pid = None  # when it was started by this very process, which must reap it

    def start(self, command, environment, log, tied):
        """Starts it with both outputs appended to `log`; tied: it dies with this process."""
        with open(log, "ab") as output:
            # A session of its own: an interrupt typed at the terminal is for us to handle.
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output,
                                     stderr=output, env=environment, cwd=self.record.parent,
                                     start_new_session=True,
                                     preexec_fn=die_with_parent if tied else None)
        self._child_pid = child.pid
        child.returncode = 0  # wait() reaps it, or init does: Popen need not watch it
        self.record.write_text(json.dumps(
            {"pid": child.pid, "start_ticks": stat_fields(child.pid)[STAT_START_TICKS]}),
            encoding="utf-8")

    @contextlib.contextmanager
    def _descriptor(self):
        """A descriptor of the live process, or None."""
        descriptor = None
        with contextlib.suppress(OSError, ValueError):
            record = json.loads(self.record.read_text(encoding="utf-8"))
            descriptor = os.pidfd_open(record["pid"])
            fields = stat_fields(record["pid"])
            if (fields is None or fields[STAT_START_TICKS] != record["start_ticks"]
                    or fields[STAT_STATE] == "Z"):
                os.close(descriptor)
                descriptor = None
        try:
            yield descriptor
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def pid(self):
        """The process number while it runs, else None."""
        with self._descriptor() as descriptor:
            if descriptor is None:
                return None
            return json.loads(self.record.read_text(encoding="utf-8"))["pid"]

    def state(self):
        """"running", "suspended" or "stopped"."""
        pid = self.pid()
        fields = stat_fields(pid) if pid is not None else None
        if fields is None:
            return "stopped"
        return "suspended" if fields[STAT_STATE] in "Tt" else "running"

    def send(self, *signals):
        """Sends the signals in order; False if it does not run."""
        with self._descriptor() as descriptor:
            if descriptor is None:
                return False
            with contextlib.suppress(ProcessLookupError):
                for number in signals:
                    signal.pidfd_send_signal(descriptor, number)
            return True

    def wait(self, timeout_s):
        """Waits for its end; False if it still runs."""
        with self._descriptor() as descriptor:
            if descriptor is None:
                return self._reap()
            readable, _, _ = select.select([descriptor], [], [], timeout_s)
            return self._reap() if readable else False

    def _reap(self):
        if self._child_pid is not None:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._child_pid, os.WNOHANG)
            self._child_pid = None
        return True
