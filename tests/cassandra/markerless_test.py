#!/usr/bin/env python3
"""Rows that are only ever updated arrive in a real Cassandra without a marker.

A row is there for as long as one of its cells lives, or its marker where it was inserted: what
append_updates writes is looked at before and after the cells of a second are over.

Environment: CISTERN_BIN, CISTERN_APPEND_UPDATES.
"""

import os
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
from sync_case import SyncCase  # noqa: E402

TABLE = """CREATE TABLE marks (
    sensor text, day date, ts timestamp, a int, b text, PRIMARY KEY ((sensor, day), ts)
) WITH comment = 'cistern: bucket day = 1 day';
"""
ROWS = 60
FIRST_MS = 1_705_276_800_000


def cells_after(n):
    """What of row n is there once the cells of a second are over; None: no row."""
    if n % 5 == 0:
        return {"b": "stays"} if n % 10 == 5 else None
    cells = {"a": str(n)}
    if n % 2 == 0:
        cells["b"] = f"b{n}"
    return cells


class MarkerlessTest(SyncCase):
    def fill(self):
        schema = self.directory / "marks.cql"
        schema.write_text(TABLE, encoding="utf-8")
        self.tool("create", "--store", self.store, "--schema", schema)
        subprocess.run([os.environ["CISTERN_APPEND_UPDATES"], self.store], check=True, timeout=60)
        self.tool("seal", "--store", self.store, "--all")
        self.apply_schema()

    def rows(self):
        """n -> cells as read_partitions.py prints them."""
        read = self.read("marks", int(time.time()))
        return {int(row["clustering"]["ts"][14:16]) * 60 + int(row["clustering"]["ts"][17:19]):
                row["cells"] for row in read}

    def test_rows_are_there_while_a_cell_lives(self):
        self.fill()
        time.sleep(2)
        self.sync("--proof", "rows")
        rows = self.rows()
        expected = {n: cells_after(n) for n in range(ROWS) if cells_after(n) is not None}
        self.assertEqual({n: {name: cell[0] for name, cell in cells.items()}
                          for n, cells in rows.items()}, expected)
        for n, cells in rows.items():
            lives_a_day = n % 7 == 0 and n % 5 != 0
            for _, _, ttl in cells.values():
                self.assertEqual(ttl is not None, lives_a_day, n)

    def test_a_marker_outlives_the_cells_and_an_update_has_none(self):
        self.fill()
        self.sync()
        time.sleep(2)
        with self.cluster.connect() as client:  # every cell goes upstream; markers stay
            for n in range(ROWS):
                client.query(f"DELETE a, b FROM {self.keyspace}.marks WHERE sensor = 's' "
                             f"AND day = '2024-01-15' AND ts = {FIRST_MS + n * 1000}")
        inserted = {n for n in range(ROWS) if n % 3 == 0 and n % 5 != 0}
        self.assertEqual(set(self.rows()), inserted)


if __name__ == "__main__":
    unittest.main(verbosity=2)
