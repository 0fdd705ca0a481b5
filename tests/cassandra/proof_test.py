#!/usr/bin/env python3
"""The levels of proof against a real Cassandra: what they accept, and what they do not.

Environment: CISTERN_BIN.
"""

import re
import sys
import time
import unittest

sys.dont_write_bytecode = True
from small_store import DAYS, STATIONS, SmallStore, event_time  # noqa: E402
from sync_case import SHADOWED, SyncCase  # noqa: E402

FAR_US = 4_000_000_000_000_000  # a write time that nothing of ours reaches
EVENTS = """CREATE TABLE events (
    station text, day date, ts timestamp, n int, PRIMARY KEY ((station, day), ts)
) WITH comment = 'cistern: bucket day = 1 day; timestamps = event';
"""


SHARED = """CREATE TABLE shared (
    station text, day date, ts timestamp, n int, PRIMARY KEY ((station, day), ts));
"""


def count_of(pattern, text):
    found = re.search(pattern, text)
    return int(found[1]) if found else 0


class ProofTest(SyncCase):
    def fill(self):
        """A store with every kind of write; the cluster has its empty table."""
        store = SmallStore(self)
        store.fill()
        self.apply_schema()
        return store

    def upstream(self, statement):
        with self.cluster.connect() as client:
            client.query(statement)

    def check(self, store):
        now_s = int(time.time())
        self.assertGreater(store.model.check(self.read("air", now_s), now_s, late_s=1), 100)
        self.assertEqual(self.status()["seals_waiting"], 0)

    def test_a_count_is_enough_for_seals_that_arrived(self):
        store = self.fill()
        said = self.sync("--proof", "count")
        self.assertGreaterEqual(count_of(r"(\d+) seals proved by count", said),
                                len(STATIONS) * len(DAYS) - 1, said)
        self.check(store)

    def test_rows_are_read_back(self):
        store = self.fill()
        said = self.sync("--proof", "rows")
        self.assertGreaterEqual(count_of(r"(\d+) seals proved by rows", said),
                                len(STATIONS) * len(DAYS) - 1, said)
        self.assertNotIn("shadowed", said)
        self.check(store)

    def test_a_row_that_another_writer_deleted_counts_as_shadowed(self):
        """By either level: where the count is too small, the rows are read."""
        for level in ("count", "rows"):
            with self.subTest(level):
                self.setUp()
                self.fill()
                self.upstream(f"DELETE FROM {self.keyspace}.air USING TIMESTAMP {FAR_US} WHERE "
                              f"station = 'south' AND day = '{DAYS[0]}' AND "
                              f"ts = '{event_time(DAYS[0], 4)}'")
                said = self.sync("--proof", level, expect=SHADOWED)
                self.assertIn("1 row shadowed upstream", said)
                self.assertEqual(self.status()["seals_parked"], 0)

    def test_newer_values_of_another_writer_are_no_failure(self):
        self.fill()
        self.upstream(f"UPDATE {self.keyspace}.air USING TIMESTAMP {FAR_US} SET temp = 1.0 WHERE "
                      f"station = 'south' AND day = '{DAYS[0]}' AND "
                      f"ts = '{event_time(DAYS[0], 4)}'")
        said = self.sync("--proof", "rows")
        self.assertNotIn("shadowed", said)
        self.assertEqual(self.status()["seals_parked"], 0)

    def test_two_gateways_with_one_entity_are_told(self):
        """By the proof of the one whose rows were written over."""
        schema = self.directory / "shared.cql"
        schema.write_text(SHARED, encoding="utf-8")
        stores = [self.directory / name for name in ("first", "second")]
        for n, store in enumerate(stores):
            self.store = store
            self.tool("create", "--store", store, "--schema", schema)
            self.tool("ingest", "--store", store, "--table", "shared", "--quiet", "-",
                      stdin="".join(["station,ts,n\n", *(f"north,{event_time(DAYS[0], row)},{n}\n"
                                                         for row in range(5))]).encode())
            self.tool("seal", "--store", store, "--all")
        self.apply_schema()
        self.sync("--proof", "rows")  # of the second, whose rows are the later ones
        self.store = stores[0]
        said = self.sync("--proof", "rows")
        self.assertIn("; 5 rows overwritten by another writer", said)
        self.assertIn("table shared: another writer has the same entity as this store", said)
        self.assertEqual(self.status()["seals_waiting"], 0)

    def test_another_value_at_our_write_time_parks_the_seal(self):
        """Nobody else writes at our write times: a larger value there is damage, and it stays."""
        self.fill()
        self.sync()
        text = event_time(DAYS[0], 4)
        found = [row for row in self.read("air", int(time.time()))
                 if row["partition"]["station"] == "south" and row["clustering"]["ts"] == text]
        self.assertEqual(len(found), 1, text)
        value, time_us, _ = found[0]["cells"]["note"]
        self.upstream(f"UPDATE {self.keyspace}.air USING TIMESTAMP {time_us} "
                      f"SET note = '{value} and more' WHERE station = 'south' AND "
                      f"day = '{DAYS[0]}' AND ts = '{text}'")
        self.tool("sync", "resend", "--store", self.store, "--table", "air", "--from", DAYS[0],
                  "--to", DAYS[1])
        said = self.sync("--proof", "rows", expect=7)
        self.assertIn("note", said)
        self.assertEqual(self.status(expect=7)["seals_parked"], 1)

    def test_what_wins_a_tie_at_our_write_time_is_no_failure(self):
        """With the timestamps of events another writer can have ours; the larger value stays."""
        schema = self.directory / "events.cql"
        schema.write_text(EVENTS, encoding="utf-8")
        self.tool("create", "--store", self.store, "--schema", schema)
        lines = ["station,ts,n"] + [f"north,{event_time(DAYS[0], row)},{row}" for row in range(9)]
        self.tool("ingest", "--store", self.store, "--table", "events", "--quiet", "-",
                  stdin="\n".join(lines).encode() + b"\n")
        self.tool("seal", "--store", self.store, "--all")
        self.apply_schema()
        time_us = 1_714_521_607_125_000 + 4 * 60_000_000  # of DAYS[0], row 4
        self.upstream(f"INSERT INTO {self.keyspace}.events (station, day, ts, n) VALUES "
                      f"('north', '{DAYS[0]}', '{event_time(DAYS[0], 4)}', 1000) "
                      f"USING TIMESTAMP {time_us}")
        self.assertIn("1 seal proved by rows", self.sync("--proof", "rows"))
        self.assertEqual(self.status()["seals_parked"], 0)
        values = [row["cells"]["n"][0] for row in self.read("events", int(time.time()))]
        self.assertEqual(values, [str(row) if row != 4 else "1000" for row in range(9)])


if __name__ == "__main__":
    unittest.main(verbosity=2)
