#!/usr/bin/env python3
"""What is made in a real Cassandra: the rule in its comment, and the clauses that are advised.

Environment: CISTERN_BIN.
"""

import re
import sys
import unittest

sys.dont_write_bytecode = True
from sync_case import SyncCase  # noqa: E402

INFERRED = """CREATE TABLE slots (
    pump text, log_hour timestamp, ts bigint, v double, PRIMARY KEY ((pump, log_hour), ts)
) WITH comment = 'Pumps. cistern: time ts = us'{};
"""
EXPECTED = ("--repair-interval", "20d", "--rows-per-day", "24")


class SchemaAdviceTest(SyncCase):
    def create(self, text):
        schema = self.directory / "slots.cql"
        schema.write_text(text, encoding="utf-8")
        return self.tool("create", "--store", self.store, "--schema", schema, *EXPECTED)[1]

    def options(self):
        """What the server has of the table."""
        with self.cluster.connect() as client:
            [row] = client.query("SELECT comment, compaction, gc_grace_seconds FROM "
                                 "system_schema.tables WHERE keyspace_name = "
                                 f"'{self.keyspace}' AND table_name = 'slots'")
        return row | {"compaction": dict(row["compaction"])}

    def clauses(self, told):
        return dict(re.findall(r"put this into its CREATE TABLE text: (\w+) = (.*)$", told, re.M))

    def test_an_inferred_rule_stands_in_the_comment(self):
        self.create(INFERRED.format(""))
        self.apply_schema()
        whole = "Pumps. cistern: bucket log_hour = 1 hour; time ts = us"
        self.assertEqual(self.options()["comment"], whole)
        with self.cluster.connect() as client:
            client.query(f"ALTER TABLE {self.keyspace}.slots WITH comment = 'Ask Ann.'")
        self.assertIn("does not say how buckets derive", self.sync_of_one_row())
        self.apply_schema()
        self.assertEqual(self.options()["comment"], whole.replace("Pumps.", "Ask Ann."))

    def sync_of_one_row(self):
        self.tool("ingest", "--store", self.store, "--table", "slots", "--quiet", "--time-unit",
                  "us", "-", stdin=b"pump,ts,v\na,1772524800000000,1\n")
        self.tool("seal", "--store", self.store, "--all")
        return self.sync()

    def test_the_clauses_that_are_advised_are_taken(self):
        clauses = self.clauses(self.create(INFERRED.format("")))
        self.assertEqual(set(clauses), {"comment", "compaction", "gc_grace_seconds"})
        self.store = self.directory / "second"
        text = INFERRED.replace("'Pumps. cistern: time ts = us'", clauses.pop("comment"))
        text = text.format("".join(f" AND {name} = {value}" for name, value in clauses.items()))
        self.assertEqual(self.create(text), "")
        said = "".join(self.apply_schema(*EXPECTED))
        self.assertNotIn("put this into", said)
        options = self.options()
        self.assertIn("bucket log_hour = 1 week; time ts = us", options["comment"])
        self.assertTrue(options["compaction"]["class"].endswith("TimeWindowCompactionStrategy"))
        self.assertEqual(options["compaction"]["compaction_window_size"], "35")
        self.assertEqual(options["gc_grace_seconds"], int(clauses["gc_grace_seconds"]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
