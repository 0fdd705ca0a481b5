#!/usr/bin/env python3
"""Static columns in a real Cassandra: the value of the newest event, whenever it arrived.

Environment: CISTERN_BIN.
"""

import json
import sys
import time
import unittest

sys.dont_write_bytecode = True
from sync_case import SyncCase  # noqa: E402

TABLE = """CREATE TABLE gates (
    e text, day date, ts timestamp, firmware text static, state text, PRIMARY KEY ((e, day), ts)
) WITH comment = 'cistern: bucket day = 1 day; timestamps = event';
"""
FIRST_MS = 1_705_276_800_000  # 2024-01-15


class StaticColumnsTest(SyncCase):
    def write(self, *rows):
        text = "".join(json.dumps({"e": "a"} | row | {"ts": FIRST_MS + row["ts"]}) + "\n"
                       for row in rows)
        self.tool("ingest", "--store", self.store, "--table", "gates", "--format", "jsonl",
                  "--quiet", "-", stdin=text.encode())
        self.tool("seal", "--store", self.store, "--all")

    def shown(self):
        """(state, firmware, its write time) of each row."""
        return [(row["cells"]["state"][0], *row["cells"]["firmware"][:2])
                for row in self.read("gates", int(time.time()))]

    def test_the_newest_event_tells(self):
        schema = self.directory / "table.cql"
        schema.write_text(TABLE, encoding="utf-8")
        self.tool("create", "--store", self.store, "--schema", schema)
        self.write({"ts": 2, "firmware": "1.10", "state": "open"}, {"ts": 3, "state": "shut"})
        self.apply_schema()
        self.sync("--proof", "rows")
        newest = ("1.10", str((FIRST_MS + 2) * 1000))
        self.assertEqual(self.shown(), [("open", *newest), ("shut", *newest)])
        self.write({"ts": 1, "firmware": "1.9", "state": "late"})
        for proof in ("rows", "count"):
            self.sync("--proof", proof)
            self.assertEqual(self.shown(), [("late", *newest), ("open", *newest),
                                            ("shut", *newest)])
            self.tool("sync", "resend", "--store", self.store, "--table", "gates")
        # Here each row keeps what it was written with.
        text, _ = self.tool("scan", "--store", self.store, "--table", "gates", "--entity", "a",
                            "--json", "--columns", "firmware")
        self.assertEqual([json.loads(line).get("firmware") for line in text.splitlines()],
                         ["1.9", "1.10", None])


if __name__ == "__main__":
    unittest.main()
