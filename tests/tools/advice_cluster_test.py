#!/usr/bin/env python3
"""Advice on the tables of a cluster is true: it is followed, and what was told is gone.

Environment: CISTERN_BIN, CISTERN_FAKE_CLUSTER.
"""

import json
import re
import shlex
import unittest

from cli_case import CliCase
from cli_cluster import KEYSPACE, REPLICATION, cluster

RULE = "comment = 'cistern: bucket day = 1 day'"
OURS = ("CREATE TABLE plant.air (station text, day date, ts timestamp, temp double, n int, "
        f"PRIMARY KEY ((station, day), ts)) WITH {RULE} AND default_time_to_live = 86400 "
        "AND gc_grace_seconds = 3600")
# What the cluster has, and the kind of the difference.
DIFFERENT = (
    (OURS.replace(", n int", ""), "column_missing"),
    (OURS.replace("= 86400", "= 60"), "default_ttl"),
    (OURS.replace("= 3600", "= 60"), "gc_grace"),
    (OURS.replace(f"{RULE} AND ", ""), "rule_missing"),
    ("", "table_missing"),
)
BY_EVENT = OURS[:OURS.index(" AND default")].replace("1 day'", "1 day; timestamps = event'")
ANOTHER = "use another name here (`cistern alter`)"
# What the cluster has, a statement that is run there then, what is declared here, the kind of the
# difference, and what is told.
OTHERS = (
    (OURS.replace("n int", "n text"), "", OURS, "column_type",
     "drop the column here and add one of another name (`cistern alter`)"),
    (OURS.replace("n int", "n int static"), "", OURS, "column_kind",
     f"would overwrite one another's: {ANOTHER}"),
    (BY_EVENT, "", BY_EVENT.replace("n int", "n int static"), "column_kind",
     f"Columns cannot become static: {ANOTHER}"),
    (OURS.replace("n int", "n text"), "ALTER TABLE plant.air DROP n", OURS, "column_gone",
     f"takes the name again as it was only: {ANOTHER}"),
)
WIDER = OURS.replace("1 day'", "1 day until 2024-05-01, 1 month'")


class AdviceClusterTest(CliCase):
    def at(self, there, *words, expect=0):
        return self.run_tool(*words[:-1], "--store", self.store, "--contact", there.contact,
                             *words[-1], expect=expect)

    def differences(self, there, expect=None):
        done = self.at(there, "schema", "diff", ("--json",), expect=expect)
        return json.loads(done.out.splitlines()[0])["differences"]

    def start(self, there, theirs, ours=OURS):
        self.assertEqual(there.run(KEYSPACE), "ok")
        if theirs:
            self.assertEqual(there.run(theirs), "ok")
        self.create(ours)

    def test_schema_apply_settles_what_it_is_said_to(self):
        for number, (theirs, kind) in enumerate(DIFFERENT):
            with self.subTest(kind), cluster() as there:
                self.store = self.directory / f"store-{number}"
                self.start(there, theirs)
                (found,) = self.differences(there)
                self.assertEqual(found["kind"], kind)
                advice = re.search(r"`cistern (schema apply)`", found["advice"])
                self.assertIsNotNone(advice, found)
                self.at(there, *advice.group(1).split(), ())
                self.assertEqual(self.differences(there, expect=0), [])

    def test_the_statement_that_is_shown_does_too(self):
        for number, (theirs, kind) in enumerate(DIFFERENT):
            with self.subTest(kind), cluster() as there:
                self.store = self.directory / f"store-{number}"
                self.start(there, theirs)
                (found,) = self.differences(there)
                self.assertIn("or this statement", found["advice"])
                self.assertEqual(there.run(found["cql"].rstrip(";")), "ok", found["cql"])
                self.assertEqual(self.differences(there, expect=0), [])

    def test_a_rule_that_goes_on_is_told_to_the_cluster(self):
        with cluster() as there:
            self.start(there, OURS, WIDER)
            self.ingest("station,ts\na,2024-06-01\nb,2024-04-01\n", table="plant.air")
            self.run_tool("seal", "--store", self.store, "--all")
            told = self.at(there, "sync", ("--hold", "0s", "--connect-timeout", "60s"), expect=7)
            self.assertIn("no rows of buckets from 2024-05-01T00:00:00Z on are sent to plant.air: ",
                          told.err)
            self.assertIn("Buckets before that date are sent", told.err)
            self.assertEqual(len(there.rows("plant.air")), 1)
            self.assertIn("`cistern schema apply` tells the cluster", told.err)
            self.at(there, "schema", "apply", ())
            self.at(there, "sync", ("--hold", "0s", "--connect-timeout", "60s"))
            self.assertEqual(len(there.rows("plant.air")), 2)

    def test_a_rule_that_the_cluster_has_is_taken_here(self):
        with cluster() as there:
            self.start(there, WIDER)
            (found,) = self.differences(there, expect=7)
            self.assertIn("alter the table here too (`cistern alter`)", found["advice"])
            self.run_tool("alter", "--store", self.store, "--table", "plant.air", "--schema",
                          self.write("wider.cql", WIDER))
            self.assertEqual(self.differences(there, expect=0), [])

    def test_keys_that_differ_by_names_alone_are_renamed(self):
        theirs = OURS.replace("station", "device").replace("ts timestamp", "at timestamp").replace(
            "day), ts)", "day), at)")
        with cluster() as there:
            self.start(there, theirs)
            found = self.differences(there, expect=7)
            self.assertEqual([one["kind"] for one in found], ["key", "key"])
            told = self.at(there, "schema", "apply", (), expect=7).err
            for one in found:
                self.assertIn("this statement renames them", one["advice"])
                self.assertIn(one["cql"], told)
                self.assertEqual(there.run(one["cql"].rstrip(";")), "ok", one["cql"])
            self.assertEqual(self.differences(there, expect=0), [])

    def test_another_name_for_a_column_that_is_another_one(self):
        for number, (theirs, then, ours, kind, told) in enumerate(OTHERS):
            with self.subTest(kind, told=told), cluster() as there:
                self.store = self.directory / f"store-{number}"
                self.start(there, theirs, ours)
                if then:
                    self.assertEqual(there.run(then), "ok")
                (found,) = self.differences(there, expect=7)
                self.assertEqual(found["kind"], kind)
                self.assertIn(told, found["advice"])
                self.run_tool("alter", "--store", self.store, "--table", "plant.air", "--schema",
                              self.write("other.cql", ours.replace("n int", "count int")))
                self.at(there, "schema", "apply", ())
                self.assertFalse([one for one in self.differences(there, expect=0)
                                  if one["weight"] == "blocks"])

    def test_another_name_for_a_type_of_other_fields(self):
        ours = OURS.replace("n int", "v frozen<spot>")
        with cluster() as there:
            for statement in (KEYSPACE, "CREATE TYPE plant.spot (x text, y double)", ours):
                self.assertEqual(there.run(statement), "ok", statement)
            self.create(f"CREATE TYPE plant.spot (x double, y double);\n{ours}")
            found = self.differences(there, expect=7)
            self.assertTrue([one for one in found
                             if "otherwise use another name here" in one["advice"]], found)
            self.run_tool("alter", "--store", self.store, "--table", "plant.air", "--schema",
                          self.write("other.cql", "CREATE TYPE plant.place (x double, y double);\n"
                                     + OURS.replace("n int", "p frozen<place>")))
            self.at(there, "schema", "apply", ())
            self.assertFalse([one for one in self.differences(there, expect=0)
                              if one["weight"] == "blocks"])

    def test_a_keyspace_is_made_as_is_said(self):
        with cluster() as there:
            self.create(OURS)
            told = self.at(there, "schema", "apply", (), expect=7).err
            self.assertIn("(--keyspace-replication), or create it", told)
            self.at(there, "schema", "apply", ("--keyspace-replication", REPLICATION))
            self.assertEqual(self.differences(there, expect=0), [])

    def test_a_table_without_a_keyspace(self):
        with cluster() as there:
            self.assertEqual(there.run(KEYSPACE), "ok")
            self.assertEqual(there.run(OURS), "ok")
            self.create(OURS.replace("plant.air", "air"))
            self.ingest("station,ts\na,1\n")
            self.run_tool("seal", "--store", self.store, "--all")
            told = self.at(there, "sync", ("--hold", "0s"), expect=7).err
            advice = re.search(r", by (--keyspace NAME), or keyspace in the file of --config", told)
            self.assertIsNotNone(advice, told)
            words = shlex.split(advice.group(1).replace("NAME", "plant"))
            self.at(there, "sync", ("--hold", "0s", *words))


if __name__ == "__main__":
    unittest.main(verbosity=1)
