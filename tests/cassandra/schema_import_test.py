#!/usr/bin/env python3
"""Tables of a real Cassandra as declarations: `cistern schema import`, and what it guesses.

Environment: CISTERN_BIN.
"""

import json
import sys
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
from import_shapes import SHAPES  # noqa: E402
from sync_case import SyncCase  # noqa: E402


class SchemaImportTest(SyncCase):
    def setUp(self):
        super().setUp()
        with self.cluster.connect() as client:
            client.query(f"CREATE KEYSPACE {self.keyspace} WITH replication = "
                         "{'class': 'SimpleStrategy', 'replication_factor': 1}")

    def imported(self, table):
        """The declaration and what is said of it."""
        return self.tool("schema", "import", "--contact", self.cluster.contact, *self.access,
                         "--keyspace", self.keyspace, "--table", table)

    def create(self, text):
        path = self.directory / "imported.cql"
        path.write_text(text, encoding="utf-8")
        self.tool("create", "--store", self.store, "--schema", path)

    def test_rules_are_found_and_said_to_be_guesses(self):
        with self.cluster.connect() as client:
            for shape in SHAPES:
                client.query(shape.create(self.keyspace))
                for statement in shape.inserts(self.keyspace):
                    client.query(statement)
        for shape in SHAPES:
            text, said = self.imported(shape.name)
            self.assertIn(f"comment = 'Somebody''s table. cistern: {shape.rule}'", text)
            self.assertIn(f"a guess: \"{shape.rule}\" fits 24 rows of 12 partitions, and no other "
                          "rule does", said)
            self.create(text)
        out, _ = self.tool("schema", "diff", *self.way_to_cluster(), "--json")
        for line in out.splitlines():
            drift = json.loads(line)
            self.assertLessEqual({one["kind"] for one in drift["differences"]}, {"rule_missing"},
                                 drift)

    def test_what_is_imported_takes_rows(self):
        keys = "PRIMARY KEY ((e, day), ts)"
        with self.cluster.connect() as client:
            for statement in (
                    "CREATE TYPE {k}.spot (x double, y double)",
                    "CREATE TYPE {k}.visit (at frozen<spot>, tags set<text>, took duration)",
                    "CREATE TABLE {k}.t (e text, day date, ts timestamp, v frozen<visit>, "
                    f"l list<int>, w vector<float, 2>, m map<text, frozen<spot>>, {keys}) "
                    "WITH comment = 'cistern: bucket day = 1 day' "
                    "AND default_time_to_live = 864000 AND compaction = {{'class': "
                    "'TimeWindowCompactionStrategy', 'compaction_window_unit': 'DAYS'}}"):
                client.query(statement.format(k=self.keyspace))
        text, said = self.imported("t")
        self.assertIn("the column 'l' is left out", said)
        self.create(text)
        row = {"e": "a", "ts": "2024-01-15", "w": [0.5, 1.5], "m": {"k": {"x": 1, "y": 2}},
               "v": {"at": {"x": 0.25}, "tags": ["a", "b"], "took": "1mo"}}
        self.tool("ingest", "--store", self.store, "--table", f"{self.keyspace}.t", "--format",
                  "jsonl", "--quiet", "-", stdin=json.dumps(row).encode())
        self.tool("seal", "--store", self.store, "--all")
        self.tool("sync", *self.way_to_cluster(), "--hold", "0s", "--proof", "rows")
        [read] = self.read("t", int(time.time()))
        self.assertEqual({name: cell[0] for name, cell in read["cells"].items()},
                         {"w": "[0.5, 1.5]", "m": "{'k': {x: 1, y: 2}}",
                          "v": "{at: {x: 0.25, y: null}, tags: {'a', 'b'}, took: 1mo}"})


if __name__ == "__main__":
    unittest.main()
