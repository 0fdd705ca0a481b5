#!/usr/bin/env python3
"""With `timestamps = event` every cell has the time of its event upstream, and ties end as here.

Rows are written again with other values, with and without TTL, in seals and amendments: all
versions of a row have one timestamp, and Cassandra decides by its rule for ties. What it comes to
is compared with `cistern scan`, whose rule is told to be the same.

Environment: CISTERN_BIN; CISTERN_SEED replays a run.
"""

import json
import os
import random
import sys
import time
import unittest
from datetime import datetime

sys.dont_write_bytecode = True
from sync_case import SyncCase  # noqa: E402

TABLE = """CREATE TABLE events (
    site text, day date, ts timestamp, k int, a int, b text, c double,
    PRIMARY KEY ((site, day), ts, k)
) WITH comment = 'cistern: bucket day = 1 day; timestamps = event';
"""
FIRST_MS = 1_705_276_800_000  # 2024-01-15
SITES = ("north", "south")
ROWS = 40
TTLS_S = (None, 50_000, 5_000_000)
SEALS = 4


def value_of(name, text):
    """Doubles have more than one text."""
    return float(text) if name == "c" else text


class EventTimestampsTest(SyncCase):
    def setUp(self):
        super().setUp()
        self.seed = int(os.environ.get("CISTERN_SEED", random.SystemRandom().randrange(1 << 32)))
        print(f"CISTERN_SEED={self.seed}", flush=True)
        self.random = random.Random(self.seed)
        schema = self.directory / "events.cql"
        schema.write_text(TABLE, encoding="utf-8")
        self.tool("create", "--store", self.store, "--schema", schema)

    def write(self, ttl_s):
        """Some of the cells of some of the rows, values that are met again among them."""
        lines = []
        for site in SITES:
            for number in self.random.sample(range(ROWS), ROWS // 2):
                row = {"site": site, "ts": FIRST_MS + number // 2 * 7_200_123, "k": number % 2}
                values = {"a": self.random.randrange(-3, 3), "c": self.random.randrange(-3, 3) / 2,
                          "b": "x" * self.random.randrange(3)}
                lines.append(json.dumps(row | {name: value for name, value in values.items()
                                               if self.random.random() < 0.7}))
        self.tool("ingest", "--store", self.store, "--table", "events", "--quiet", "--format",
                  "jsonl", *(["--ttl", ttl_s] if ttl_s is not None else []), "-",
                  stdin="\n".join(lines).encode())

    def scanned(self):
        """(site, event time, k) -> cells, as the store has them."""
        rows = {}
        for site in SITES:
            text, _ = self.tool("scan", "--store", self.store, "--table", "events", "--entity",
                                site, "--json")
            for line in text.splitlines():
                row = json.loads(line, parse_int=str, parse_float=str)
                rows[site, row["ts"], row["k"]] = {
                    name: value_of(name, row[name]) for name in "abc"
                    if row.get(name) is not None}
        return rows

    def test_ties_end_as_in_the_store(self):
        for number in range(SEALS):
            for ttl_s in TTLS_S:
                self.write(ttl_s)
            self.tool("seal", "--store", self.store, "--all")
            if number == 0:
                self.apply_schema()
            self.sync()
            self.compare()

    def compare(self):
        expected = self.scanned()
        got = {}
        for row in self.read("events", int(time.time())):
            moment, cells = row["clustering"]["ts"], row["cells"]
            got[row["partition"]["site"], moment, row["clustering"]["k"]] = {
                name: value_of(name, cell[0]) for name, cell in cells.items()}
            time_us = round(datetime.fromisoformat(moment).timestamp() * 1000) * 1000
            for cell in cells.values():
                self.assertEqual(int(cell[1]), time_us, row)
        self.assertGreater(len(got), ROWS)
        self.assertEqual(sorted(got), sorted(expected))
        for key, cells in expected.items():
            self.assertEqual(got[key], cells, key)


if __name__ == "__main__":
    unittest.main(verbosity=2)
