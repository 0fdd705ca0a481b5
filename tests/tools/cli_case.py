"""What the tests of the command line share: a directory, a store, and the tool run as a shell does.

Environment: CISTERN_BIN.
"""

import contextlib
import csv
import io
import os
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

BIN = os.environ.get("CISTERN_BIN", "cistern")
AIR = """CREATE TABLE air (
    station text, day date, ts timestamp, temp double, wd text, n int,
    PRIMARY KEY ((station, day), ts)
);
"""
PUMPS = """CREATE TABLE plant.pumps (
    site int, pump text, hour timestamp, ts bigint, part text, value float, on_ boolean,
    tags frozen<set<text>>, raw blob,
    PRIMARY KEY ((site, pump, hour), ts, part)
) WITH CLUSTERING ORDER BY (ts DESC, part ASC)
   AND comment = 'cistern: time ts = us';
"""


class Done:
    def __init__(self, process):
        self.code = process.returncode
        self.out = process.stdout
        self.err = process.stderr.decode()


class CliCase(unittest.TestCase):
    def setUp(self):
        self.directory = Path(tempfile.mkdtemp(prefix="cistern-cli-"))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.store = self.directory / "store"

    def run_tool(self, *arguments, stdin=b"", expect=0):
        process = subprocess.run([BIN, *map(str, arguments)], input=stdin, capture_output=True,
                                 cwd=self.directory, check=False, timeout=120)
        done = Done(process)
        if expect is not None:  # else the caller looks
            self.assertEqual(done.code, expect,
                             f"{arguments}\n{done.out[-2000:]}\n{done.err[-2000:]}")
        if done.err:
            self.assertTrue(done.err.startswith("cistern: "), done.err)
        return done

    @contextlib.contextmanager
    def holder_of_store(self):
        """A process that has the new store open, one row in it, and reads on from its stdin."""
        self.create()
        with subprocess.Popen([BIN, "ingest", "--store", self.store, "--table", "air", "-"],
                              stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                              cwd=self.directory) as holder:
            holder.stdin.write(b"station,ts\na,1\n")
            holder.stdin.flush()
            deadline = time.monotonic() + 30
            while not self.scan():  # rows are stored when nothing comes
                self.assertLess(time.monotonic(), deadline)
            yield holder

    def write(self, name, text):
        path = self.directory / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def create(self, schema=AIR, **kwargs):
        return self.run_tool("create", "--store", self.store, "--schema",
                             self.write("schema.cql", schema), **kwargs)

    def ingest(self, text, *options, table="air", expect=0):
        data = text if isinstance(text, bytes) else text.encode()
        return self.run_tool("ingest", "--store", self.store, "--table", table, *options, "-",
                             stdin=data, expect=expect)

    def scan_text(self, *options, table="air", entity="a", expect=0):
        return self.run_tool("scan", "--store", self.store, "--table", table, "--entity", entity,
                             "--format", "csv", *options, expect=expect).out.decode()

    def scan(self, *options, **kwargs):
        text = self.scan_text(*options, **kwargs)
        return list(csv.DictReader(io.StringIO(text, newline="")))

    def make_journal(self):
        """A new store with many rows in its logs."""
        self.create()
        for first in range(0, 20000, 4000):
            self.ingest("station,ts,temp\n" + "".join(
                f"s{i % 50},{i * 1000},{i}.5\n" for i in range(first, first + 4000)))

    def lose_rows(self):
        """Flips a byte of a log that can be read in part after it: not every one is such."""
        for log in sorted(self.store.glob("*.log"), reverse=True):
            whole = log.read_bytes()
            for part in range(1, 32 if whole else 1):
                data = bytearray(whole)
                data[len(data) * part // 32] ^= 0x55
                log.write_bytes(data)
                done = subprocess.run([BIN, "verify", "--store", self.store], capture_output=True,
                                      check=False, timeout=60)
                if done.returncode == 1 and b"acknowledged rows are missing" in done.stderr:
                    return
            log.write_bytes(whole)
        self.fail("no damage leaves a log that can be read in part")
