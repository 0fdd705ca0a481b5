#!/usr/bin/env python3
"""Tables that somebody alters in a real Cassandra, or makes anew, while a sync sends to them.

The sync is stopped in the middle of one long seal, as a gateway is whose link is quiet: no batch
falls between DROP and CREATE.

Environment: CISTERN_BIN.
"""

import re
import signal
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
from patience import patience_s  # noqa: E402
from sync_case import BIN, HOLD, PARKED_OR_DIFFERENT, SyncCase  # noqa: E402

ROWS = 20_000
PACE = ("--bandwidth", "128KiB/s", "--batch-rows", "100")  # some ten seconds for all of them
WAIT_S = patience_s(300)
COLUMNS = "e text, day date, ts timestamp, v {}, PRIMARY KEY ((e, day), ts)"
RULE = "WITH comment = 'cistern: bucket day = 1 day'"


class AlteredTablesTest(SyncCase):
    def fill(self):
        """One seal of many rows, and the empty table in the cluster."""
        schema = self.directory / "table.cql"
        schema.write_text(f"CREATE TABLE t ({COLUMNS.format('double')}) {RULE};", encoding="utf-8")
        self.tool("create", "--store", self.store, "--schema", schema)
        rows = "".join(f"a,2026-11-20T00:00:{i // 1000:02d}.{i % 1000:03d}Z,{i}.5\n"
                       for i in range(ROWS))
        self.tool("ingest", "--store", self.store, "--table", "t", "--quiet", "-",
                  stdin=f"e,ts,v\n{rows}".encode())
        self.tool("seal", "--store", self.store, "--all")
        self.apply_schema()

    def upstream(self, *statements):
        with self.cluster.connect() as client:
            answers = [client.query(s.format(table=f"{self.keyspace}.t")) for s in statements]
        return answers[-1]

    def arrived(self):
        [row] = self.upstream("SELECT count(v) AS n, max(ttl(v)) AS ttl FROM {table} "
                              "WHERE e = 'a' AND day = '2026-11-20'")
        return row["n"], row["ttl"]

    def sync_around(self, *statements):
        """Runs the statements while a sync is stopped halfway; its exit code and messages."""
        words = [BIN, "sync", *self.way_to_cluster(), "--keyspace", self.keyspace, "--hold", HOLD,
                 *PACE, *self.access]
        with subprocess.Popen(list(map(str, words)), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            deadline = time.monotonic() + WAIT_S
            while not 1_000 < self.arrived()[0] < ROWS - 1_000:
                self.assertIsNone(process.poll())
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.2)
            process.send_signal(signal.SIGSTOP)
            try:
                self.upstream(*statements)
            finally:
                process.send_signal(signal.SIGCONT)
            said = process.communicate(timeout=WAIT_S)[0].decode()
        return process.returncode, said

    def test_a_default_ttl_that_is_set_meanwhile_ends_no_row(self):
        self.fill()
        code, said = self.sync_around("ALTER TABLE {table} WITH default_time_to_live = 4000")
        self.assertEqual(code, 0, said)
        self.assertEqual(self.arrived(), (ROWS, None))

    def test_a_table_that_was_made_anew_gets_all_rows(self):
        self.fill()
        code, said = self.sync_around("DROP TABLE {table}", "CREATE TABLE {table} "
                                      f"({COLUMNS.format('double')}) {RULE}")
        self.assertEqual(code, 0, said)
        self.assertEqual(self.arrived(), (ROWS, None))

    def test_a_table_with_another_type_is_held(self):
        self.fill()
        code, said = self.sync_around("DROP TABLE {table}", "CREATE TABLE {table} "
                                      f"({COLUMNS.format('bigint')}) {RULE}")
        self.assertEqual(code, PARKED_OR_DIFFERENT, said)
        self.assertIn("the column 'v' is double here and bigint in the cluster", said)
        self.assertEqual(self.status()["seals_waiting"], 1)
        self.assertLess(self.arrived()[0], 200)  # at most what was on its way

    REVIVED = ("ALTER TABLE {table} DROP v", "ALTER TABLE {table} ADD v double")

    def drop_told(self, said):
        """What the words of a sync tell to agree to."""
        found = re.search(rf"--accept-hidden ({self.keyspace}\.t\.v@[0-9TZ:.-]+)", said)
        self.assertIsNotNone(found, said)
        return found[1]

    def test_a_column_that_came_back_hides_what_was_written_before(self):
        """The server takes it all and shows none of it; what is written from now on it shows."""
        self.fill()
        self.upstream(*self.REVIVED)
        said = self.sync(expect=PARKED_OR_DIFFERENT)
        self.assertIn("the column 'v' was dropped in the cluster", said)
        self.assertEqual(self.status()["seals_waiting"], 1)
        self.assertEqual(self.arrived()[0], 0)
        drop = self.drop_told(said)
        told = self.upstream("SELECT dropped_time FROM system_schema.dropped_columns WHERE "
                             f"keyspace_name = '{self.keyspace}' AND table_name = 't'")
        self.assertEqual(len(told), 1)

        # A proof by rows sends them, and parks what it finds hidden.
        self.assertEqual(self.drop_told(self.sync("--proof", "rows", expect=PARKED_OR_DIFFERENT)),
                         drop)
        self.assertEqual(self.status(expect=PARKED_OR_DIFFERENT)["seals_parked"], 1)
        self.assertEqual(self.arrived()[0], 0)
        self.tool("sync", "retry", "--store", self.store)
        self.assertIn(f"{ROWS} rows with values that are hidden upstream, as agreed",
                      self.sync("--proof", "rows", "--accept-hidden", drop))
        self.assertEqual(self.arrived()[0], 0)

        self.tool("ingest", "--store", self.store, "--table", "t", "--quiet", "-",
                  stdin=b"e,ts,v\na,2026-11-20T12:00:00Z,1\n")
        self.tool("seal", "--store", self.store, "--all")
        self.assertIn("1 seal confirmed", self.sync())
        self.assertEqual(self.arrived()[0], 1)

    def test_a_column_that_comes_back_meanwhile_takes_the_seal_back(self):
        self.fill()
        code, said = self.sync_around(*self.REVIVED)
        self.assertEqual(code, PARKED_OR_DIFFERENT, said)
        self.drop_told(said)
        self.assertEqual(self.status()["seals_waiting"], 1)


if __name__ == "__main__":
    unittest.main()
