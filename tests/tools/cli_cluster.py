"""A fake cluster as a process beside the tool.

Environment: CISTERN_FAKE_CLUSTER.
"""

import contextlib
import os
import subprocess

FAKE = os.environ.get("CISTERN_FAKE_CLUSTER", "fake_cluster")
REPLICATION = "{'class': 'SimpleStrategy', 'replication_factor': 1}"
KEYSPACE = f"CREATE KEYSPACE plant WITH replication = {REPLICATION};"
PASSWORD = "Kx7-not-to-be-seen"


class Cluster:
    def __init__(self, process):
        self.process = process
        self.contact = f"127.0.0.1:{self.read()}"

    def read(self):
        return self.process.stdout.readline().decode().strip("\n")

    def run(self, statement):
        """The answer to a statement, or to another line that fake_cluster.cc tells of."""
        self.process.stdin.write(" ".join(statement.split()).encode() + b"\n")
        self.process.stdin.flush()
        return self.read()

    def rows(self, table):
        """What a client can read of it, a line for each row."""
        text = self.run(f"dump {table}")
        return text.split("\t") if text else []

    def writes(self):
        return int(self.run("writes"))


@contextlib.contextmanager
def cluster(*arguments):
    with subprocess.Popen([FAKE, *arguments], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        yield Cluster(process)
        process.stdin.close()
