"""What the tests of `cistern sync` against the real server share.

All tests of a process have one server, each its own store and keyspace: that of `server with`, or
one that is started for the process and gone with it.

Environment: CISTERN_BIN (that of build/ unless set), CISTERN_TEST_DIR, and what `server with`
gives.
"""

import atexit
import functools
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from cluster import Cluster
from patience import patience_s

HERE = Path(__file__).resolve().parent
BIN = os.environ.get("CISTERN_BIN", str(HERE.parent.parent / "build/tools/cistern"))
TEST_DIR = os.environ.get("CISTERN_TEST_DIR")
TIMEOUT_S = patience_s(1500)
HOLD = "0s"  # the test's server keeps what it has answered, whatever the tests do to it
SHADOWED = 6  # exit codes of sync
PARKED_OR_DIFFERENT = 7
AWAY = 8


def temporary_directory():
    return Path(tempfile.mkdtemp(prefix="cistern-cassandra-", dir=TEST_DIR))


@functools.cache
def shared_cluster():
    """The Cluster of this process."""
    directory = os.environ.get("CISTERN_CASSANDRA_DIR")
    if directory is not None:
        return Cluster(directory)
    scratch = temporary_directory()
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    cluster = Cluster.create(scratch / "cluster", tied=True)
    atexit.register(cluster.remove)
    cluster.start()
    return cluster


def read_rows(cluster, tables, now_s, *options):
    """The rows of each keyspace.table as the Python driver sees them at `now_s`, in the server's
    order.

    Numbers stay the text that was printed, so that no digit is lost.
    """
    words = [word for table in tables for word in ("--table", table)]
    done = subprocess.run(
        [sys.executable, HERE / "read_partitions.py", *words, "--now", str(now_s), *options],
        capture_output=True, check=False, timeout=TIMEOUT_S,
        env={**os.environ, **cluster.environment()})
    if done.returncode != 0:
        raise AssertionError(done.stderr.decode(errors="replace")[-3000:])
    for line in done.stdout.splitlines():
        yield json.loads(line, parse_int=str, parse_float=str)


class SyncCase(unittest.TestCase):
    """A test with a store in a directory of its own, and a keyspace of its own."""

    replicas = 1
    access = []  # options of everything that speaks to the cluster, besides --contact

    def setUp(self):
        self.directory = temporary_directory()
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.store = self.directory / "store"
        self.cluster = self.cluster_of_test()
        name = self.id().rsplit(".", 1)[1].removeprefix("test_")
        self.keyspace = f"{name[:39]}_{secrets.token_hex(4)}"  # 48 bytes at most

    def cluster_of_test(self):
        return shared_cluster()

    def tool(self, *arguments, expect=0, stdin=b""):
        """Runs `cistern`; its output and messages as texts."""
        done = subprocess.run([BIN, *map(str, arguments)], input=stdin, capture_output=True,
                              check=False, cwd=self.directory, timeout=TIMEOUT_S)
        out, messages = done.stdout.decode(), done.stderr.decode(errors="replace")
        self.assertEqual(done.returncode, expect,
                         f"cistern {arguments}\n{out[-2000:]}\n{messages[-2000:]}")
        return out, messages

    def way_to_cluster(self):
        """Options of `schema apply` and `sync`."""
        return ["--store", self.store, "--contact", self.cluster.contact, *self.access]

    def apply_schema(self, *options, **kwargs):
        replication = f"{{'class': 'SimpleStrategy', 'replication_factor': {self.replicas}}}"
        return self.tool("schema", "apply", *self.way_to_cluster(), "--keyspace", self.keyspace,
                         "--keyspace-replication", replication, *options, **kwargs)

    def sync(self, *options, **kwargs):
        """What a sync says: its summary and its messages."""
        return "".join(self.tool("sync", *self.way_to_cluster(), "--keyspace", self.keyspace,
                                 "--hold", HOLD, *options, **kwargs))

    def status(self, expect=0):
        return json.loads(self.tool("sync", "status", "--store", self.store, "--json",
                                    expect=expect)[0])

    def read(self, table, now_s, *options):
        return read_rows(self.cluster, [f"{self.keyspace}.{table}"], now_s, *options)

    def read_tables(self, tables, now_s):
        """table -> its rows."""
        names = {f"{self.keyspace}.{table}": table for table in tables}
        rows = {table: [] for table in tables}
        for row in read_rows(self.cluster, names, now_s):
            # A single table is not named.
            rows[names[row.get("table", next(iter(names)))]].append(row)
        return rows
