#!/usr/bin/env python3
"""Sets and maps that are not frozen, in a real Cassandra: whole values that replace one another.

Environment: CISTERN_BIN.
"""

import json
import sys
import time
import unittest

sys.dont_write_bytecode = True
from sync_case import SyncCase  # noqa: E402

TABLE = """CREATE TABLE tagged (
    e text, day date, ts timestamp, v double, labels map<text, text>, codes set<int>,
    deep map<int, frozen<list<double>>>, PRIMARY KEY ((e, day), ts)
) WITH comment = 'cistern: bucket day = 1 day';
"""
FIRST_MS = 1_705_276_800_000  # 2024-01-15


class CollectionsTest(SyncCase):
    def create(self):
        schema = self.directory / "table.cql"
        schema.write_text(TABLE, encoding="utf-8")
        self.tool("create", "--store", self.store, "--schema", schema)
        self.apply_schema()

    def write(self, *rows):
        text = "".join(json.dumps({"e": "a", "ts": FIRST_MS} | row) + "\n" for row in rows)
        self.tool("ingest", "--store", self.store, "--table", "tagged", "--format", "jsonl",
                  "--quiet", "-", stdin=text.encode())
        self.tool("seal", "--store", self.store, "--all")

    def shown(self):
        """The cells of each row: name -> literal."""
        return [{name: cell[0] for name, cell in row["cells"].items()}
                for row in self.read("tagged", int(time.time()))]

    def test_a_value_replaces_the_one_before_and_a_repeat_changes_nothing(self):
        self.create()
        self.write({"labels": "{'b': 'y', 'a': 'it''s'}", "codes": "{3, 1, 3}",
                    "deep": "{2: [0.5, 1.5], 1: []}"},
                   {"ts": FIRST_MS + 1, "codes": "{}", "v": 1.5})
        first = [{"labels": "{'a': 'it''s', 'b': 'y'}", "codes": "{1, 3}",
                  "deep": "{1: [], 2: [0.5, 1.5]}"}, {"v": "1.5"}]
        self.sync("--proof", "rows")
        self.assertEqual(self.shown(), first)
        self.tool("sync", "resend", "--store", self.store, "--table", "tagged")
        self.sync("--proof", "count")
        self.assertEqual(self.shown(), first)
        self.write({"labels": "{'c': 'z'}"})
        self.sync("--proof", "rows")
        self.assertEqual(self.shown(), [first[0] | {"labels": "{'c': 'z'}"}, first[1]])

    def test_what_others_put_in_is_newer(self):
        self.create()
        self.write({"labels": "{'a': 'x'}"})
        self.sync()
        with self.cluster.connect() as client:
            client.query(f"UPDATE {self.keyspace}.tagged SET labels['b'] = 'y' WHERE e = 'a' "
                         "AND day = '2024-01-15' AND ts = '2024-01-15T00:00:00Z'")
        self.tool("sync", "resend", "--store", self.store, "--table", "tagged")
        self.sync("--proof", "rows")
        self.assertEqual(self.shown(), [{"labels": "{'a': 'x', 'b': 'y'}"}])

    def test_why_lists_must_be_frozen(self):
        """A fact about the server: the same write of a list, repeated, doubles it."""
        self.create()  # and its keyspace
        with self.cluster.connect() as client:
            client.query(f"CREATE TABLE {self.keyspace}.l (k int PRIMARY KEY, v list<int>, "
                         "s set<int>)")
            for _ in range(2):
                client.query(f"INSERT INTO {self.keyspace}.l (k, v, s) VALUES (1, [7, 8], {{7}}) "
                             "USING TIMESTAMP 1000")
        [row] = self.read("l", int(time.time()))
        self.assertEqual({name: cell[0] for name, cell in row["cells"].items()},
                         {"v": "[7, 8, 7, 8]", "s": "{7}"})


if __name__ == "__main__":
    unittest.main()
