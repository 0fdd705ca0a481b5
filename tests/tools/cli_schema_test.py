"""cistern schema against a cluster: printed, compared, applied.

Environment: CISTERN_BIN, CISTERN_FAKE_CLUSTER.
"""

import json
import os
import re
import socket
import unittest

from cli_case import AIR, PUMPS, CliCase
from cli_cluster import KEYSPACE, PASSWORD, REPLICATION, cluster
from import_shapes import SHAPES


class SchemaTest(CliCase):
    def schema(self, command, *options, expect=0):
        return self.run_tool("schema", command, "--store", self.store, *options, expect=expect)

    def at(self, there, command, *options, expect=0):
        return self.schema(command, "--contact", there.contact, "--connect-timeout", "60s",
                           *options, expect=expect)

    def differences(self, there, expect=0):
        lines = self.at(there, "diff", "--json", expect=expect).out.splitlines()
        return [json.loads(line) for line in lines]

    # --- import

    def imported(self, there, table, *options, expect=0):
        return self.run_tool("schema", "import", "--contact", there.contact, "--connect-timeout",
                             "60s", "--keyspace", "plant", "--table", table, *options,
                             expect=expect)

    def test_rules_of_other_peoples_tables_are_found_and_said_to_be_guesses(self):
        with cluster() as there:
            there.run(KEYSPACE)
            for shape in SHAPES:
                self.assertEqual(there.run(shape.create("plant")), "ok", shape.name)
                for statement in shape.inserts("plant"):
                    self.assertEqual(there.run(statement), "ok", statement)
            for shape in SHAPES:
                done = self.imported(there, shape.name)
                text = done.out.decode()
                self.assertIn(f"comment = 'Somebody''s table. cistern: {shape.rule}'", text)
                self.assertIn(f"a guess: \"{shape.rule}\" fits 24 rows of 12 partitions, and no "
                              "other rule does", done.err)
                self.assertTrue(text.startswith(f"-- a guess: \"{shape.rule}\""), text)
                self.create(text)
            self.assertEqual({d["kind"] for drift in self.differences(there)
                              for d in drift["differences"]}, {"rule_missing"})

    def test_a_rule_of_the_comment_is_taken_as_it_is(self):
        with cluster() as there:
            there.run(KEYSPACE)
            there.run("CREATE TYPE plant.spot (x double, y double)")
            there.run("CREATE TABLE plant.a (s text, b int, part smallint, ts bigint, "
                      "v frozen<spot>, PRIMARY KEY ((s, b, part), ts)) WITH "
                      "default_time_to_live = 60 AND comment = 'cistern: bucket b = 1 day as "
                      "epoch; split part = hash 4; time ts = s'")
            done = self.imported(there, "a")
            self.assertEqual(done.err, "")
            text = done.out.decode()
            self.assertTrue(text.startswith("CREATE TYPE plant.spot (x double, y double);"), text)
            self.assertIn("AND default_time_to_live = 60\n", text)
            self.assertEqual(json.loads(self.imported(there, "a", "--json").out),
                             {"table": "plant.a", "cql": text, "notes": []})
            self.create(text)
            self.assertEqual(self.differences(there)[0]["differences"], [])
            there.run("INSERT INTO plant.a (s, b, part, ts) VALUES ('x', 7, 1, 86400)")
            self.assertIn("the rule of the comment does not hold for all rows that were looked at "
                          "(1 row of 1 partition): ", self.imported(there, "a").err)
            there.run("CREATE TABLE plant.e (s text, day date, ts timestamp, v int, PRIMARY KEY "
                      "((s, day), ts)) WITH comment = 'cistern: timestamps = event'")
            self.assertIn("a guess: the rule in the comment says nothing of the bucket",
                          self.imported(there, "e").err)

    def test_what_cannot_be_told_is_not_made_up(self):
        keys = "ts timestamp, PRIMARY KEY ((s, b), ts))"
        with cluster() as there:
            there.run(KEYSPACE)
            self.assertIn("is no table of the cluster", self.imported(there, "no", expect=7).err)
            there.run(f"CREATE TABLE plant.a (s text, b text, {keys}")
            self.assertIn("which column is the bucket", self.imported(there, "a", expect=7).err)
            there.run("INSERT INTO plant.a (s, b, ts) VALUES ('x', '20240115', 1705276800000)")
            done = self.imported(there, "a", expect=7)
            self.assertIn("no rule that Cistern has fits the rows of plant.a (looked at: 1 row of "
                          "1 partition), such as s = x, b = 20240115, ts = "
                          "2024-01-15T00:00:00.000Z", done.err)
            self.assertEqual(done.out, b"")
            there.run(f"CREATE TABLE plant.b (s text, b timestamp, {keys}")
            there.run("INSERT INTO plant.b (s, b, ts) VALUES ('x', 1705276800000, 1705276801000)")
            self.assertIn("a guess: \"bucket b = 1 minute\" fits 1 row of 1 partition; so do "
                          "\"bucket b = 1 hour\", \"bucket b = 1 day\", ",
                          self.imported(there, "b").err)
            self.assertNotIn("--partitions", self.imported(there, "b").err)  # it has no more
            there.run("INSERT INTO plant.b (s, b, ts) VALUES ('y', 1705276860000, 1705276919000)")
            self.assertIn("a guess: \"bucket b = 1 minute\" fits 2 rows of 2 partitions, and no "
                          "other rule does", self.imported(there, "b", "--partitions", "64").err)
            there.run(f"CREATE TABLE plant.c (s text, day date, {keys.replace('b', 'day')}")
            self.assertIn("a guess: the bucket follows from the name and the type",
                          self.imported(there, "c").err)
            [note] = json.loads(self.imported(there, "c", "--json").out)["notes"]
            self.assertIn("a guess: the bucket follows from the name and the type", note)
            there.run("CREATE TABLE plant.d (s text, part bigint, day date, ts timestamp, PRIMARY "
                      "KEY ((s, part, day), ts))")
            [_, note] = json.loads(self.imported(there, "d", "--json").out)["notes"]
            self.assertEqual(note, "the column 'part' is taken for a part of the entity. If it "
                             "spreads the rows of an entity over partitions, the comment has to "
                             "say so: split part = hash 8")

    def test_more_partitions_tell_more_where_there_are_more(self):
        """Each of two lies by several rules, and both of them by one alone."""
        with cluster() as there:
            there.run(KEYSPACE)
            there.run("CREATE TABLE plant.a (s text, b timestamp, ts timestamp, "
                      "PRIMARY KEY ((s, b), ts))")
            hour = 1705276800000  # 2024-01-15, a Monday
            for s, bucket, time in (("x", hour, hour), ("x", hour, hour + 3_599_000),
                                    ("y", hour + 3_600_000, hour + 3_601_000)):
                self.assertEqual(there.run("INSERT INTO plant.a (s, b, ts) VALUES "
                                           f"('{s}', {bucket}, {time})"), "ok")
            told = self.imported(there, "a", "--partitions", "1").err
            self.assertRegex(told, r" fits \d rows? of 1 partition; so do ")
            more = re.search(r": look at more by (--partitions \d+), or ask", told)
            self.assertIsNotNone(more, told)
            self.assertIn("a guess: \"bucket b = 1 hour\" fits 3 rows of 2 partitions, and no "
                          "other rule does", self.imported(there, "a", *more[1].split()).err)

    # --- print

    def test_printed_statements_make_the_tables(self):
        self.create(PUMPS + AIR)
        text = self.schema("print", "--keyspace", "plant", "--keyspace-replication",
                           REPLICATION).out.decode()
        self.assertEqual(text.count("CREATE KEYSPACE"), 1)
        self.assertIn("AND comment = 'cistern: bucket hour = 1 hour; time ts = us'", text)
        statements = [one for one in text.split(";\n") if one.strip()]
        self.assertEqual(len(statements), 3, text)
        with cluster() as there:
            for statement in statements:
                self.assertEqual(there.run(statement + ";"), "ok")
            done = self.at(there, "diff", "--keyspace", "plant")
            self.assertEqual(done.out, b"plant.pumps: no difference\nplant.air: no difference\n")

    def test_a_table_without_a_keyspace_is_printed_as_it_is(self):
        self.create()
        text = self.schema("print", "--table", "air").out.decode()
        self.assertTrue(text.startswith("CREATE TABLE IF NOT EXISTS air ("), text)
        self.assertTrue(text.endswith("AND gc_grace_seconds = 864000;\n"), text)

    # --- diff and apply

    def test_from_nothing_to_no_difference(self):
        self.create(PUMPS)
        with cluster() as there:
            [drift] = self.differences(there, expect=7)
            self.assertEqual((drift["table"], drift["blocks"]), ("plant.pumps", True))
            self.assertEqual(drift["differences"][0]["kind"], "keyspace_missing")
            done = self.at(there, "apply", expect=7)
            self.assertIn("needs a person: the cluster has no keyspace plant. Say how", done.err)
            self.assertIn(" (--keyspace-replication), or create it\n", done.err)
            self.assertEqual(done.out, b"")
            wrong = "{'class': 'NetworkTopologyStrategy', 'dc1': 3}"
            for dry_run in ((), ("--dry-run",)):
                done = self.at(there, "apply", "--keyspace-replication", wrong, *dry_run, expect=2)
                self.assertIn("--keyspace-replication: the cluster has no data center 'dc1'; "
                              "those that it has: datacenter1", done.err)
                self.assertEqual(done.out, b"")
            options = ("--keyspace-replication", REPLICATION)
            dry = self.at(there, "apply", *options, "--dry-run").out.decode()
            self.assertEqual(self.differences(there, expect=7), [drift])
            applied = self.at(there, "apply", *options).out.decode()
            self.assertEqual(applied, dry + "-- plant.pumps: as declared, 2 statements run\n")
            self.assertTrue(dry.startswith("CREATE KEYSPACE IF NOT EXISTS plant WITH"), dry)
            self.assertEqual(self.differences(there), [
                {"table": "plant.pumps", "blocks": False, "blocks_from": None,
                 "hides_up_to": None, "differences": []}])
            again = self.at(there, "apply").out
            self.assertEqual(again, b"-- plant.pumps: nothing to do\n")

    def test_user_defined_types_go_before_the_tables_that_have_them(self):
        keys = "s text, day date, ts timestamp, PRIMARY KEY ((s, day), ts)"
        self.create("CREATE TYPE plant.spot (x double, y double);\n"
                    f"CREATE TABLE plant.a (v frozen<spot>, {keys});\n"
                    f"CREATE TABLE plant.b (m map<text, frozen<spot>>, {keys});\n")
        # What is printed of the store declares it anew.
        text = self.run_tool("tables", "--store", self.store, "--cql").out.decode()
        self.assertEqual(text.count("CREATE TYPE plant.spot (x double, y double);"), 2, text)
        self.create(text)
        with cluster() as there:
            there.run(KEYSPACE)
            applied = self.at(there, "apply").out.decode()
            self.assertEqual(applied.count("CREATE TYPE"), 1, applied)
            self.assertEqual(self.differences(there), [
                {"table": f"plant.{table}", "blocks": False, "blocks_from": None,
                 "hides_up_to": None, "differences": []} for table in "ab"])
            self.ingest('{"s":"a","ts":1,"v":{"y":2.5}}\n', "--format", "jsonl",
                        table="plant.a")
            self.ingest('{"s":"a","ts":1,"m":{"k":{"x":1}}}\n', "--format", "jsonl",
                        table="plant.b")
            self.run_tool("seal", "--store", self.store, "--all")
            self.run_tool("sync", "--store", self.store, "--contact", there.contact, "--hold",
                          "0s")
            self.assertIn("v={x: null, y: 2.5}@", there.rows("plant.a")[0])
            self.assertIn("m={'k': {x: 1, y: null}}", there.rows("plant.b")[0])

    def test_types_may_stand_again_before_each_table_that_has_them(self):
        # As a store is printed. Together they are longer than one statement may be.
        fields = ", ".join(f"field_{i} text" for i in range(60))
        text = "".join(f"CREATE TYPE plant.wide ({fields});\nCREATE TABLE plant.t{i} (s text, day "
                       "date, ts timestamp, v frozen<wide>, PRIMARY KEY ((s, day), ts));\n"
                       for i in range(90))
        self.assertGreater(len(text), 65536)
        self.create(text)
        printed = self.run_tool("tables", "--store", self.store, "--cql").out.decode()
        self.assertEqual(printed.count("CREATE TYPE plant.wide "), 90)
        self.assertIn("there already", self.create(printed).out.decode())

    def test_errors_behind_types_name_their_place(self):
        done = self.create("CREATE TYPE spot (x double);\n"
                           "CREATE TABLE a (s text, day date, ts timestamp, v frozen<spot>, "
                           "PRIMARY KEY ((s, day), ts));\n"
                           "CREATE TABLE b (s text, day date, ts timestamp, v spot, "
                           "PRIMARY KEY ((s, day), ts));\n", expect=2)
        self.assertIn("line 3, column 51: a user-defined type must be frozen", done.err)
        self.assertFalse(self.store.exists())

    def test_columns_and_options_are_brought_up_to_date(self):
        self.create("CREATE TABLE plant.air (s text, day date, ts timestamp, a int, b text, "
                    "PRIMARY KEY ((s, day), ts)) WITH default_time_to_live = 86400 "
                    "AND comment = 'cistern: bucket day = 1 day';")
        with cluster() as there:
            there.run(KEYSPACE)
            self.assertEqual(there.run(
                "CREATE TABLE plant.air (s text, day date, ts timestamp, theirs int, "
                "PRIMARY KEY ((s, day), ts)) WITH comment = 'cistern: bucket day = 1 day'"), "ok")
            text = self.at(there, "diff", expect=7).out.decode()
            self.assertIn("plant.air: 4 differences; no rows may be sent\n", text)
            self.assertIn("blocks: the cluster has no column 'a', which rows may have. `cistern "
                          "schema apply` adds it, or this statement:\n"
                          "  ALTER TABLE plant.air ADD a int;\n", text)
            self.assertIn("\nwarns: default_time_to_live is 86400 here and 0 in the cluster", text)
            self.assertIn("\nharmless: the cluster has the column 'theirs'", text)
            done = self.at(there, "apply")
            self.assertEqual(done.out.decode(),
                             "ALTER TABLE plant.air ADD (a int, b text);\n"
                             "ALTER TABLE plant.air WITH default_time_to_live = 86400;\n"
                             "-- plant.air: as declared but for what is told above, 2 statements "
                             "run\n")
            self.assertIn("plant.air: stays different: the cluster has the column 'theirs'",
                          done.err)
            [drift] = self.differences(there)
            self.assertEqual([one["kind"] for one in drift["differences"]], ["column_added"])

    def test_the_file_of_sync_says_where(self):
        self.create(PUMPS)
        config = self.write("sync.toml", "")
        with cluster() as there:
            there.run(KEYSPACE)
            config.write_text(f'store = "{self.store}"\ncontact = "{there.contact}"\n'
                              'connect_timeout = "60s"\nkeyspace = "other"\nhold = "1s"\n')
            self.run_tool("schema", "diff", "--config", config, expect=7)
            self.run_tool("schema", "apply", "--config", config)
            done = self.run_tool("schema", "diff", "--config", config)
            self.assertEqual(done.out, b"plant.pumps: no difference\n")
            done = self.run_tool("schema", "print", "--config", config)
            self.assertEqual(done.out, self.schema("print").out)
            # The command line goes before it.
            done = self.run_tool("schema", "diff", "--config", config, "--store",
                                 self.directory / "nowhere", expect=3)
            self.assertIn("nowhere", done.err)
        config.write_text('store = "S"\n')
        done = self.run_tool("schema", "diff", "--config", config, expect=2)
        self.assertIn("which cluster? --contact HOST[:PORT]", done.err)
        config.write_text('stroe = "S"\n')
        done = self.run_tool("schema", "apply", "--config", config, expect=2)
        self.assertIn(f"{config}:1: stroe is no setting; did you mean store?", done.err)
        for words in (("diff", "--contact", "db-1"), ("print",)):
            done = self.run_tool("schema", *words, expect=2)
            self.assertIn("which store? --store DIR says it", done.err)

    def test_print_takes_the_keyspace_of_the_file(self):
        self.create()
        config = self.write("sync.toml", f"store = '{self.store}'\nkeyspace = 'plant'\n")
        printed = self.run_tool("schema", "print", "--config", config).out
        self.assertIn(b"CREATE TABLE IF NOT EXISTS plant.air (", printed)
        self.assertEqual(printed, self.schema("print", "--keyspace", "plant").out)

    def test_a_lost_answer_is_no_failure(self):
        self.create("CREATE TABLE plant.air (s text, day date, ts timestamp, a int, "
                    "PRIMARY KEY ((s, day), ts));")
        with cluster() as there:
            there.run(KEYSPACE)
            self.at(there, "apply")
            self.assertEqual(there.run("ALTER TABLE plant.air DROP a"), "ok")
            self.assertEqual(there.run("lose"), "ok")
            done = self.at(there, "apply")
            self.assertIn("is as declared all the same, so it had been run", done.err)
            self.assertIn(b"-- plant.air: as declared but for what is told above, 1 statement "
                          b"run\n", done.out)
            self.assertIn("stays different: the column 'a' was dropped in the cluster at", done.err)
            self.assertNotEqual(there.run("ALTER TABLE plant.air ADD a int"), "ok")

    def test_a_keyspace_that_lacks_is_said_once_for_all_its_tables(self):
        self.create(PUMPS + "CREATE TABLE plant.air (s text, day date, ts timestamp, a int, "
                            "PRIMARY KEY ((s, day), ts));")
        with cluster() as there:
            told = self.at(there, "apply", expect=7).err
            self.assertEqual(told.count("the cluster has no keyspace plant"), 1, told)
            self.assertEqual(told.count("--keyspace-replication"), 1, told)
            # No table can be applied alone.
            self.assertTrue(told.endswith("cistern: nothing was altered\n"), told)
            self.at(there, "apply", "--keyspace-replication", REPLICATION)

    def test_what_needs_a_person_leaves_everything_as_it_is(self):
        self.create(PUMPS + "CREATE TABLE plant.air (s text, day date, ts timestamp, a int, "
                            "PRIMARY KEY ((s, day), ts));")
        with cluster() as there:
            there.run(KEYSPACE)
            self.assertEqual(there.run("CREATE TABLE plant.air (s text, day date, ts timestamp, "
                                       "a text, PRIMARY KEY ((s, day), ts));"), "ok")
            before = self.differences(there, expect=7)
            done = self.at(there, "apply", expect=7)
            self.assertIn("plant.air: needs a person: the column 'a' is int here and text in the "
                          "cluster. Types cannot be altered", done.err)
            self.assertIn("nothing was altered; --table T applies one table alone", done.err)
            self.assertEqual((done.out, self.differences(there, expect=7)), (b"", before))
            self.at(there, "apply", "--table", "plant.pumps")
            blocked = {one["table"]: one["blocks"] for one in self.differences(there, expect=7)}
            self.assertEqual(blocked, {"plant.pumps": False, "plant.air": True})

    # --- what a declaration costs the cluster

    EXPECTED = ("--repair-interval", "20d", "--rows-per-day", "24")
    SLOTS = ("CREATE TABLE plant.slots (pump text, slot timestamp, ts timestamp, v double, "
             "PRIMARY KEY ((pump, slot), ts)) WITH ")

    def create_at(self, name, text):
        """The store that later commands use; what was told on standard error."""
        self.store = self.directory / name
        schema = self.write(f"{name}.cql", text)
        return self.run_tool("create", "--store", self.store, "--schema", schema,
                             *self.EXPECTED).err

    def told_clauses(self, text):
        told = re.findall(r"^cistern: table plant\.slots: .*; put this into its CREATE TABLE text: "
                          r"(.*)$", text, re.M)
        self.assertEqual(len(told), len(text.splitlines()), text)
        return told

    def test_what_will_cost_the_cluster_is_told_with_what_to_declare(self):
        told = self.create_at("first", self.SLOTS + "comment = 'cistern: bucket slot = 1 hour';")
        clauses = self.told_clauses(told)
        self.assertEqual([clause.split(" ")[0] for clause in clauses],
                         ["comment", "compaction", "gc_grace_seconds"])
        self.assertIn("a bucket of 1 hour would have about 1.0 rows", told)
        with cluster() as there:
            there.run(KEYSPACE)
            for options in (("--dry-run",), ()):
                self.assertEqual(self.at(there, "apply", *self.EXPECTED, *options).err, told)
            # An option that is not declared stays as the cluster has it.
            self.assertEqual(there.run("ALTER TABLE plant.slots WITH " + clauses[1]), "ok")
            self.assertEqual(self.told_clauses(self.at(there, "apply", *self.EXPECTED).err),
                             [clauses[0], clauses[2]])
        with cluster() as there:
            there.run(KEYSPACE)
            self.assertEqual(self.create_at("second", self.SLOTS + " AND ".join(clauses)), "")
            self.assertEqual(self.create_at("second", self.SLOTS + " AND ".join(clauses)), "")
            self.assertEqual(self.at(there, "apply", *self.EXPECTED).err, "")

    def test_expectations_that_cannot_be(self):
        for words, told in ((("--repair-interval", "7"), "--repair-interval '7' has no unit"),
                            (("--rows-per-day", "0"), "--rows-per-day '0' is not a whole number"),
                            (("--rows-per-day", "1.5"), "--rows-per-day '1.5' is not a whole")):
            done = self.run_tool("create", "--store", self.store, "--schema",
                                 self.write("a.cql", PUMPS), *words, expect=2)
            self.assertIn(told, done.err)
            self.assertFalse(self.store.exists())
            self.assertIn(told, self.schema("apply", "--contact", "db", *words, expect=2).err)

    def test_a_store_that_is_written_meanwhile(self):
        with cluster() as there, self.holder_of_store():
            there.run(KEYSPACE)
            self.at(there, "apply", "--keyspace", "plant")
            self.at(there, "diff", "--keyspace", "plant")

    # --- the way to the cluster

    def test_a_cluster_that_is_away(self):
        self.create(PUMPS)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            contact = f"127.0.0.1:{taken.getsockname()[1]}"
        for command in ("diff", "apply"):
            done = self.schema(command, "--contact", contact, "--connect-timeout", "1s", expect=8)
            self.assertIn(f"takes requests: cannot connect to {contact} (127.0.0.1: Connection ref",
                          done.err)
            self.assertEqual(done.out, b"")

    def test_passwords(self):
        self.create(PUMPS)
        secret = self.write("secret", PASSWORD + "\n")
        wrong = self.write("wrong", "another\n")
        secret.chmod(0o600)
        wrong.chmod(0o644)
        with cluster("edge", PASSWORD) as there:
            login = ("--user", "edge", "--allow-cleartext-password")
            for options in ((), (*login, "--password-file", wrong)):
                done = self.at(there, "diff", *options, expect=8)
                self.assertIn("password", done.err)
            self.assertIn(f"everybody on this machine can read the password file {wrong}: chmod "
                          f"600 {wrong}", done.err)
            done = self.at(there, "diff", *login, "--password-file", secret, expect=7)
            self.assertEqual(done.err, "")
            self.write("cistern-password", PASSWORD)
            (self.directory / "cistern-password").chmod(0o400)
            os.environ["CREDENTIALS_DIRECTORY"] = str(self.directory)
            self.addCleanup(os.environ.pop, "CREDENTIALS_DIRECTORY")
            done = self.at(there, "diff", *login, expect=7)
            self.assertNotIn(PASSWORD, done.err + done.out.decode())

    def test_options_that_cannot_be(self):
        self.create(PUMPS)
        secret = self.write("secret", PASSWORD)
        empty = self.write("empty", "\n" + PASSWORD)
        user = ("--user", "u", "--allow-cleartext-password")
        for options, told in (
                (("--contact", "a:b:c"), "an IPv6 address stands in brackets, [fd00::1]:9042"),
                (("--contact", "db:0"), "has a port that is no number from 1 to 65535"),
                (("--contact", "db:"), "has a port that is no number from 1 to 65535"),
                (("--contact", ":9042"), "is not HOST or HOST:PORT"),
                (("--contact", "[::1"), "has no ] behind its address"),
                (("--contact", "db,db:9042"), "--contact: db:9042 is given twice"),
                (("--ca", secret), "--ca is of --tls: add that"),
                (("--tls", "--client-cert", secret), "--client-cert goes with --client-key"),
                (("--tls", "--ca", "nowhere"), "--ca 'nowhere' cannot be read: No such file"),
                (("--tls", "--ca", self.directory), "is a directory: name a file in PEM"),
                (("--tls", "--ca", secret), f"TLS: cannot use the authorities in {secret}: "),
                (("--user", "u", "--password-file", secret), "in clear: add --tls, or, in a netw"),
                (("--tls", *user), "--allow-cleartext-password does nothing beside --tls"),
                (("--allow-cleartext-password",), "goes with --user; leave it out"),
                (("--password-file", secret), "--password-file goes with --user NAME"),
                (user, "--user needs a password: name its file by --password-file"),
                ((*user, "--password-file", empty), f"{empty} has nothing in its first line"),
                ((*user, "--password-file", "nowhere"), "nowhere cannot be read: No such file"),
                (("--connect-timeout", "0s"), "--connect-timeout '0s' is "),
                (("--keyspace", "k"), "that were declared without one, and here none is"),
                (("--format", "csv"), "'--format' is no option of schema diff"),
                (("--table", ""), "--table: is empty")):
            contact = () if options[0] == "--contact" else ("--contact", "db")
            done = self.schema("diff", *contact, *options, expect=2)
            self.assertIn(told, done.err)
            self.assertNotIn(PASSWORD, done.err)
        self.assertIn("which cluster? --contact HOST[:PORT]", self.schema("diff", expect=2).err)
        done = self.schema("apply", "--contact", "db", "--keyspace-replication", "3", expect=2)
        self.assertIn("--keyspace-replication: '3' does not say how a keyspace", done.err)

    def test_a_table_without_a_keyspace_needs_one(self):
        self.create()
        done = self.schema("diff", "--contact", "db", expect=2)
        self.assertIn("table air was declared without a keyspace: say by --keyspace", done.err)

    def test_mistyped_words(self):
        for words, told in (
                (("schema", "prnt"), "'prnt' is no subcommand of schema; did you mean print?; see "
                                     "cistern schema --help"),
                (("schema", "diff", "--store", "S", "--contatc", "db"),
                 "'--contatc' is no option of schema diff; did you mean --contact?; see cistern "
                 "schema diff --help"),
                (("schema",), "see cistern schema --help"),
                (("schema", "print", "--store", "S", "x"), "schema print takes options alone")):
            self.assertIn(told, self.run_tool(*words, expect=2).err)
        self.assertIn(b"--dry-run", self.run_tool("help", "schema", "apply").out)


if __name__ == "__main__":
    unittest.main()
