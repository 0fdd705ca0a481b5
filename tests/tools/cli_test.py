"""The tool's messages, exit codes and behaviour from outside, as a shell sees them.

Environment: CISTERN_BIN.
"""

import contextlib
import csv
import io
import json
import os
import signal
import struct
import subprocess
import sys
import time
import unittest

from cli_case import AIR, BIN, PUMPS, CliCase


class CliTest(CliCase):
    # --- the command line

    def test_help_and_version(self):
        text = self.run_tool("--help").out.decode()
        for word in ("create", "ingest", "scan", "delete", "tables", "entities", "buckets",
                     "windows", "stats", "verify", "Exit codes", "Examples"):
            self.assertIn(word, text)
        version = self.run_tool("--version").out.decode()
        self.assertRegex(version, r"^cistern \d+\.\d+\.\d+\n$")
        self.assertEqual(self.run_tool("-V").out.decode(), version)
        for command in ("create", "alter", "ingest", "scan", "delete", "tables", "entities",
                        "buckets", "windows", "expire", "clock", "stats", "verify"):
            text = self.run_tool(command, "--help").out.decode()
            self.assertIn("--store", text)
            self.assertRegex(text, f"(?s)Examples?:.*cistern {command} --store")

    def test_usage_errors(self):
        self.assertIn("see cistern --help", self.run_tool(expect=2).err)
        self.assertIn("see cistern scan --help", self.run_tool("scan", expect=2).err)
        self.assertIn("'scna'", self.run_tool("scna", "--store", "x", expect=2).err)
        self.create()
        self.assertIn("csv, jsonl, json, line", self.ingest("", "--format", "xml", expect=2).err)
        self.assertIn("one character", self.ingest("", "--delimiter", "ab", expect=2).err)
        self.assertIn("time unit", self.ingest("", "--time-unit", "d", expect=2).err)
        self.assertIn("synced, log, memory", self.ingest("", "--durability", "no", expect=2).err)
        self.assertIn("offset from UTC", self.ingest("", "--utc-offset", "CET", expect=2).err)

    def test_numbers_never_wrap(self):
        self.create()
        scan = ("scan", "--store", self.store, "--table", "air", "--entity", "a")
        for option, value in (("--limit", "-1"), ("--limit", "0"), ("--limit", "1e3"),
                              ("--limit", "18446744073709551616"), ("--limit", " 5"),
                              ("--limit", "")):
            done = self.run_tool(*scan, option, value, expect=2)
            self.assertIn(option, done.err)
            self.assertIn(f"'{value}' is not a whole number from 1 to ", done.err)
        for option in ("--ttl", "--batch-rows", "--reasons", "--reject-max", "--memory-budget"):
            for value in ("-1", "-2", "99999999999999999999", "x"):
                done = self.ingest("", option, value, expect=2)
                self.assertIn(option, done.err)
                self.assertIn(f"'{value}' is not a whole number", done.err)
        self.assertIn("8 MiB", self.ingest("", "--memory-budget", "1MiB", expect=2).err)
        self.ingest("station,ts\na,1\n", "--memory-budget", "8MiB", "--ttl", "60")

    def test_an_empty_option_is_not_an_absent_one(self):
        self.create()
        for option in ("--columns", "--from", "--to", "--token"):
            self.assertIn(option, self.scan_text_error(option))
        for option in ("--at", "--from", "--to", "--bucket", "--bucket-of"):
            done = self.run_tool("delete", "--store", self.store, "--table", "air", "--entity", "a",
                                 option, "", expect=2)
            self.assertIn(f"{option}: is empty", done.err)
        # Without a table these are about every one.
        for command in (("seal", "--all"), ("seal", "--due"), ("buckets",), ("histograms",),
                        ("salvage", "--to", self.directory / "new"), ("tables",)):
            done = self.run_tool(command[0], "--store", self.store, *command[1:], "--table", "",
                                 expect=2)
            self.assertIn("--table: is empty", done.err)
        self.assertFalse((self.directory / "new").exists())
        for option in ("--header", "--stem", "--time-unit", "--time-base", "--utc-offset",
                       "--time-zone", "--ambiguous-times", "--time-format", "--reject",
                       "--memory-budget", "--set", "--map"):
            self.assertIn(option, self.ingest("", option, "", expect=2).err)
        self.ingest("station,ts\na,1\n", "--null", "")

    def scan_text_error(self, option):
        return self.run_tool("scan", "--store", self.store, "--table", "air", "--entity", "a",
                             option, "", expect=2).err

    # --- schema and store

    def test_schema_error_has_line_and_column_and_leaves_no_store(self):
        done = self.create(AIR.replace("double", "dubble"), expect=2)
        self.assertRegex(done.err, r"schema\.cql: line 2, column \d+: ")
        self.assertFalse(self.store.exists())
        self.run_tool("create", "--store", self.store, "--schema", "nowhere.cql", expect=2)
        self.assertFalse(self.store.exists())

    def test_create_again(self):
        self.create()
        self.create()
        done = self.create(AIR.replace("n int", "n bigint"), expect=2)
        self.assertIn('it says "n int," where this says "n bigint,"', done.err)
        self.assertEqual(len(done.err.splitlines()), 1)
        done = self.create(AIR.replace(", n int", ""), expect=2)
        self.assertIn('it says "n int," where this says "PRIMARY KEY', done.err)
        done = self.create(AIR.replace(");", ") WITH comment = 'x';"), expect=2)
        self.assertIn('says "', done.err)
        tables = self.run_tool("tables", "--store", self.store).out.decode().splitlines()
        self.assertEqual([line.split()[0] for line in tables[2:]], ["air"])
        cql = self.run_tool("tables", "--store", self.store, "--cql").out.decode()
        self.assertIn("CREATE TABLE air", cql)

    def alter(self, schema, table="air", expect=0):
        return self.run_tool("alter", "--store", self.store, "--table", table, "--schema",
                             self.write("altered.cql", schema), expect=expect)

    def test_alter(self):
        self.create()
        self.ingest("station,ts,temp,wd,n\na,2024-01-01T00:00:00Z,1.5,N,7\n")
        self.assertIn("as it was", self.alter(AIR).out.decode())
        done = self.alter(AIR.replace("n int", "rain float"))
        self.assertEqual(done.out.decode(), f"table air in {self.store}: added rain; dropped n\n")
        self.ingest("station,ts,temp,rain\na,2024-01-01T01:00:00Z,2.5,0.25\n")
        rows = self.scan()
        self.assertEqual([(row["temp"], row["wd"], row["rain"]) for row in rows],
                         [("1.5", "N", ""), ("2.5", "", "0.25")])
        self.assertNotIn("n", rows[0])
        # What tables prints is what the next change begins with.
        cql = self.run_tool("tables", "--store", self.store, "--cql").out.decode()
        self.assertIn("rain float", cql)
        done = self.alter(cql.replace("default_time_to_live = 0", "default_time_to_live = 60"))
        self.assertIn("time to live 60 s for later writes, was 0 s", done.out.decode())
        done = self.alter(cql.rstrip("\n;") + " AND comment = 'two\nlines' "
                          "AND speculative_retry = 'NONE' "
                          "AND compaction = {'class': 'TimeWindowCompactionStrategy'};")
        self.assertIn('comment "two\\nlines", was none', done.out.decode())
        self.assertIn("compaction class=TimeWindowCompactionStrategy, was none",
                      done.out.decode())
        self.assertIn("speculative_retry='NONE', was none", done.out.decode())
        done = self.alter(cql.replace("gc_grace_seconds = 864000", "gc_grace_seconds = 60"))
        self.assertIn("gc_grace_seconds 60, was 864000", done.out.decode())
        self.assertIn("compaction none, was class=", done.out.decode())
        self.assertIn("comment none, was ", done.out.decode())
        self.assertNotIn("changed", done.out.decode())
        # The old values stay hidden when the name comes back.
        self.alter(AIR)
        self.assertEqual([row["n"] for row in self.scan()], ["", ""])
        self.run_tool("verify", "--store", self.store)

    def test_alter_the_width_from_a_date_on(self):
        def with_widths(widths):
            return AIR.rstrip().rstrip(";") + f" WITH comment = 'cistern: bucket day = {widths}';"
        self.create()
        self.ingest("station,ts,temp\na,2024-01-05T00:00:00Z,1\n")
        early = self.alter(with_widths("1 day until 2024-01-01, 1 month"), expect=2)
        self.assertIn("the last bucket is '2024-01-05' of entity 'a' in table air", early.err)
        rule = "1 day until 2024-02-01, 1 month"
        self.assertIn(f"is 2024-02-01: 'bucket day = {rule}'", early.err)
        # Before rows come the date can be corrected, and the change withdrawn.
        self.alter(with_widths("1 day until 2024-03-01, 1 month"))
        self.alter(with_widths("1 day"))
        done = self.alter(with_widths(rule))
        self.assertIn(": bucket day = 1 day until 2024-02-01, 1 month\n", done.out.decode())
        self.ingest("station,ts,temp\na,2024-01-31T23:00:00Z,2\na,2024-02-20T00:00:00Z,3\n"
                    "a,2024-02-21T00:00:00Z,4\n")
        self.assertEqual([(row["day"], row["temp"]) for row in self.scan()],
                         [("2024-01-05", "1"), ("2024-01-31", "2"), ("2024-02-01", "3"),
                          ("2024-02-01", "4")])
        done = self.alter(with_widths("1 day until 2024-02-01, 1 month until 2025-01-01, "
                                      "1 year"))
        rule = "day = 1 day until 2024-02-01, 1 month until 2025-01-01, 1 year"
        self.assertIn(f": bucket {rule}\n", done.out.decode())
        # What tables prints is the whole rule.
        self.assertIn(f" {rule} ", self.run_tool("tables", "--store", self.store).out.decode())
        table = self.run_tool("tables", "--store", self.store, "--json").out
        self.assertEqual(json.loads(table)["bucket"], rule)
        self.run_tool("verify", "--store", self.store)

    def test_alter_says_what_cannot_be(self):
        self.create()
        done = self.alter(AIR.replace("n int", "n bigint"), expect=2)
        self.assertIn("the column 'n' is int, not bigint", done.err)
        self.assertEqual(len(done.err.splitlines()), 1)
        self.assertIn("its clustering key is (ts), not (ts, n)",
                      self.alter(AIR.replace("day), ts", "day), ts, n"), expect=2).err)
        self.assertIn("declares plant.pumps, not air", self.alter(PUMPS, expect=2).err)
        self.assertIn("no table 'rain'", self.alter(AIR, table="rain", expect=2).err)
        self.assertIn("line 1, column 1", self.alter("ALTER TABLE air ADD x int;", expect=2).err)
        self.assertIn("cistern alter", self.create(AIR.replace("n int", "m int"), expect=2).err)

    def test_missing_store(self):
        for command in (("scan", "--table", "air", "--entity", "a"), ("buckets",), ("stats",),
                        ("verify",), ("tables",), ("ingest", "--table", "air", "-"),
                        ("alter", "--table", "air", "--schema", self.write("air.cql", AIR))):
            done = self.run_tool(command[0], "--store", self.store, *command[1:], expect=3)
            self.assertTrue(done.err.startswith(f"cistern: there is no store in {self.store}; "),
                            done.err)
            self.assertFalse(self.store.exists())

    def test_unknown_table_lists_what_there_is(self):
        self.create()
        done = self.ingest("station,ts\n", table="ari", expect=2)
        self.assertIn("ari", done.err)
        self.assertIn("air", done.err)
        self.scan_text(table="ari", expect=2)
        self.run_tool("buckets", "--store", self.store, "--table", "ari", expect=2)

    def test_unknown_columns_list_what_there_is(self):
        self.create()
        done = self.ingest("station,ts,tmp\na,1,2\n", expect=2)
        self.assertIn("no column 'tmp'; it has station, ts, temp, wd, n", done.err)
        self.assertIn("--ignore 'tmp'", done.err)
        self.assertIn("no column 'x'; it has station, day",
                      self.run_tool("scan", "--store", self.store, "--table", "air", "--entity",
                                    "a", "--columns", "ts,x", expect=2).err)
        self.assertIn("'day' is derived", self.ingest("station,ts,day\n", expect=2).err)

    def test_store_of_a_newer_version(self):
        self.create()
        self.ingest("station,ts,n\na,1,1\n")
        marker = self.store / "CISTERN"
        old = marker.read_bytes()
        self.assertIn(b"\nformat ", old)
        newer = b"\n".join(b"format 99" if line.startswith(b"format ") else line
                           for line in old.split(b"\n"))
        marker.write_bytes(newer)
        before = {f: f.read_bytes() for f in self.store.rglob("*") if f.is_file()}
        for command in (("scan", "--table", "air", "--entity", "a"), ("stats",), ("verify",),
                        ("ingest", "--table", "air", "-")):
            done = self.run_tool(command[0], "--store", self.store, *command[1:], expect=3)
            self.assertIn("99", done.err)
        self.create(expect=3)
        after = {f: f.read_bytes() for f in self.store.rglob("*") if f.is_file()}
        self.assertEqual(before, after)
        marker.write_bytes(old)
        self.assertEqual(len(self.scan()), 1)

    def test_store_that_is_open_elsewhere(self):
        with self.holder_of_store() as holder:
            done = subprocess.run([BIN, "ingest", "--store", self.store, "--table", "air", "-"],
                                  input=b"station,ts\n", capture_output=True, check=False,
                                  cwd=self.directory)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn(b" is open in process ", done.stderr)
            holder.stdin.write(b"a,2\n")
            _, err = holder.communicate(timeout=30)
            self.assertEqual(holder.returncode, 0, err)
            self.assertIn(b"2 rows stored", err)
        self.assertEqual(len(self.scan()), 2)

    def test_place_that_cannot_be_a_store(self):
        file = self.write("file", "not a directory")
        schema = self.write("schema.cql", AIR)
        done = subprocess.run([BIN, "create", "--store", file / "store", "--schema", schema],
                              capture_output=True, check=False)
        self.assertIn(done.returncode, (3, 4), done.stderr)
        self.assertIn(b"cannot open the store", done.stderr)
        done = subprocess.run([BIN, "create", "--store", file, "--schema", schema],
                              capture_output=True, check=False)
        self.assertIn(done.returncode, (3, 4), done.stderr)
        self.assertEqual(file.read_text(), "not a directory")

    # --- bad input

    def test_bad_lines(self):
        self.create()
        lines = [b"station,ts,temp,n\n",
                 b"a,2024-01-01T00:00:00Z,1.5,1\n",
                 b"a,2024-01-01T00:00:01Z,warm,2\n",         # 3
                 b"a,2024-01-01T00:00:02.0005Z,1,3\n",       # 4: finer than the column
                 b"a,99999999999999999,1,4\n",               # 5: absurd
                 b"a,2106-01-01T00:00:00Z,1,5\n",            # 6: far in the future
                 b"a,2024-01-01T00:00:03Z,1,99999999999\n",  # 7: no int
                 b"\xff\xfe,2024-01-01T00:00:04Z,1,6\n",     # 8: not UTF-8
                 b"a,2024-01-01T00:00:05Z,1\n",              # 9: a cell is missing
                 b"a\x00,2024-01-01T00:00:06Z,1,7\n",        # 10: NUL
                 b",2024-01-01T00:00:07Z,1,8\n",             # 11: no entity
                 b"a,2024-01-01T00:00:08Z,2.5,9\n"]
        done = self.ingest(b"".join(lines), expect=1)
        for number, word in ((3, "'warm' is not a number"), (4, "finer than a millisecond"),
                             (5, "wrong time unit"), (6, ""), (7, "'n'"), (8, "not UTF-8"),
                             (9, "3 cells where the header has 4"), (10, "NUL"), (11, "station")):
            line = [e for e in done.err.splitlines() if f"standard input:{number}: " in e]
            self.assertEqual(len(line), 1, f"{number}\n{done.err}")
            self.assertIn(word, line[0])
        self.assertIn("2 rows stored in air, 9 lines rejected to stdin.reject", done.err)
        rejected = (self.directory / "stdin.reject").read_bytes().splitlines(keepends=True)
        self.assertEqual(rejected[0], lines[0])
        self.assertEqual(sorted(rejected[1:]), sorted(lines[2:11]))
        self.assertEqual([r["temp"] for r in self.scan()], ["1.5", "2.5"])

    def test_reject_options(self):
        self.create()
        done = self.ingest("station,ts\nx\ny\nz\n", "--reject", "bad.csv", "--reject-max", "1",
                           expect=2)
        self.assertIn("more than 1 line was rejected", done.err)
        self.assertEqual((self.directory / "bad.csv").read_text(), "station,ts\nx\ny\n")
        (self.directory / "stdin.reject").mkdir()
        done = self.ingest("station,ts\nx\n", expect=4)
        self.assertIn("cannot write rejected lines to stdin.reject", done.err)
        self.assertIn("1 line rejected and kept nowhere", done.err)

    def test_reasons_show_what_was_typed(self):
        self.create()
        done = self.ingest("station,ts\na,2024-01-01T00:00:00.1234\n", expect=1)
        self.assertIn("'2024-01-01T00:00:00.1234' is finer than a millisecond", done.err)
        done = self.ingest('{"station":"a","ts":1,"wd":["N"]}\n{"station":"a","ts":1e999}\n',
                           "--format", "jsonl", expect=1)
        self.assertIn("column 'wd': an array or object does not go into text", done.err)
        self.assertNotIn("exception", done.err)
        done = self.ingest("station,ts\na,2024-01-01 1:2:60\n", "--time-format", "%F %H:%M:%S",
                           expect=1)
        self.assertIn("'2024-01-01 1:2:60' is not a time of day", done.err)

    def test_memory_budget(self):
        self.create()
        self.ingest("station,ts\na,1\n", "--memory-budget", "8MiB")
        self.assertIn("memory", self.ingest("station,ts\n", "--memory-budget", "1MiB",
                                            expect=2).err)
        self.ingest("station,ts\n", "--memory-budget", "much", expect=2)

    def test_missing_file(self):
        self.create()
        done = self.run_tool("ingest", "--store", self.store, "--table", "air", "nowhere.csv",
                             expect=2)
        self.assertIn("cannot open nowhere.csv: No such file", done.err)

    # --- rows in, rows out

    def test_cells_merge_as_in_cassandra(self):
        self.create()
        self.ingest("station,ts,temp,wd,n\na,1000,1,N,7\na,2000,1,N,7\n")
        self.ingest("station,ts,temp,wd\na,1000,,S\na,2000,NA,\"\"\n", "--null", "NA")
        rows = self.scan()
        self.assertEqual([(r["temp"], r["wd"], r["n"]) for r in rows],
                         [("1", "S", "7"), ("1", "", "7")])
        self.ingest("station,ts,temp,n\na,1000,,8\n", "--null-deletes")
        self.assertEqual([(r["temp"], r["wd"], r["n"]) for r in self.scan()],
                         [("", "S", "8"), ("1", "", "7")])
        text = self.scan_text("--columns", "temp,wd")
        self.assertEqual(text, 'temp,wd\n,S\n1,""\n')

    def test_other_entities_after_each_reopen(self):
        """A replayed head knows entities that the new journal family has not seen."""
        self.create()
        for turn, names in enumerate(("ab", "b", "cba", "da", "edcba", "b")):
            self.ingest("station,ts,n\n" + "".join(f"{e},{turn},{turn}\n" for e in names))
        for entity, turns in (("a", [0, 2, 3, 4]), ("b", [0, 1, 2, 4, 5]), ("c", [2, 4]),
                              ("d", [3, 4]), ("e", [4])):
            self.assertEqual([int(r["n"]) for r in self.scan(entity=entity)], turns, entity)

    def test_values_come_back_bit_for_bit(self):
        self.create()
        values = ["0", "-0", "0.1", "1e22", "5e-324", "1.7976931348623157e308", "nan", "inf",
                  "-inf", "51.846000000000004", "123456789012345680"]
        text = "station,ts,temp\n" + "".join(f"a,{i},{v}\n" for i, v in enumerate(values))
        self.ingest(text)
        for row, value in zip(self.scan(), values, strict=True):
            self.assertEqual(struct.pack("<d", float(row["temp"])), struct.pack("<d", float(value)))
        out = self.run_tool("scan", "--store", self.store, "--table", "air", "--entity", "a",
                            "--json").out.decode()
        cells = [json.loads(line)["temp"] for line in out.splitlines()]
        for cell, value in zip(cells, values, strict=True):
            self.assertEqual(struct.pack("<d", float(cell)), struct.pack("<d", float(value)))

    def test_scan_output_is_input_again(self):
        self.create()
        text = 'station,ts,temp,wd\na,1,1.5,"say ""hi"",\nyou"\na,2,,\na,3,-0,""\na,4,2," x"\n'
        self.ingest(text)
        first = self.scan_text()
        self.store = self.directory / "second"
        self.create()
        self.ingest(first, "--ignore", "day")
        self.assertEqual(self.scan_text(), first)

    def test_json_lines_and_composite_entities(self):
        self.create(PUMPS)
        self.ingest('{"site":3,"pump":"p,=1","ts":1700000000.123456,"part":"x","value":0.1,'
                    '"on_":true,"tags":["b","a"],"raw":"0xcafe"}\n'
                    '{"site":3,"pump":"p,=1","ts":1700000001,"part":"y","value":null}\n'
                    '{"site":3,"pump":"p,=1","ts":1700000001,"part":"y","other":1}\n',
                    "--format", "jsonl", "--time-unit", "s", table="plant.pumps", expect=1)
        out = self.run_tool("scan", "--store", self.store, "--table", "pumps", "--entity", "site=3",
                            "--entity", "pump=p,=1", "--json").out.decode()
        rows = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([r["ts"] for r in rows], [1700000000123456, 1700000001000000])
        self.assertEqual(rows[0]["value"], 0.1)
        self.assertIs(rows[0]["on_"], True)
        self.assertEqual(rows[0]["raw"], "0xcafe")
        self.assertIsNone(rows[1]["value"])
        done = self.run_tool("scan", "--store", self.store, "--table", "pumps", "--entity", "3",
                             expect=2)
        self.assertIn("--entity site=...,pump=...", done.err)

    def test_line_protocol(self):
        self.create(PUMPS)
        self.ingest('m,site=3,pump=p\\ 1,part=x value=0.5,on_=f 1700000000123456000\n'
                    'm,site=3,pump=p\\ 1,part=x value=0.5 1700000000123456001\n',
                    "--format", "line", table="pumps", expect=1)
        rows = self.scan(table="pumps", entity="site=3,pump=p 1")
        self.assertEqual([(r["ts"], r["value"], r["on_"]) for r in rows],
                         [("1700000000123456", "0.5", "false")])

    def test_time_options(self):
        self.create()
        self.ingest("station,ts\na,24.05.2024 07:03\n", "--time-format", "%d.%m.%Y %H:%M",
                    "--utc-offset", "+02:00")
        self.ingest("station,ts\na,0.25\n", "--time-unit", "s", "--time-base",
                    "2024-05-24T06:00:00Z")
        self.ingest("station,ts\na,2024-05-24 01:00\n", "--utc-offset", "-06:00")
        times = [r["ts"] for r in self.scan("--columns", "ts")]
        self.assertEqual([t.replace(" ", "T")[:23] for t in times],
                         ["2024-05-24T05:03:00.000", "2024-05-24T06:00:00.250",
                          "2024-05-24T07:00:00.000"])

    def test_no_header_and_stem(self):
        self.create()
        self.write("st7.txt", "1 5\n2 6\n")
        self.run_tool("ingest", "--store", self.store, "--table", "air", "--delimiter", " ",
                      "--header", "ts,n", "--set", "station={stem}", "st7.txt")
        self.assertEqual([r["n"] for r in self.scan(entity="st7")], ["5", "6"])
        done = self.ingest("1 5\n", "--delimiter", " ", "--header", "ts,n", "--set",
                           "station={stem}", expect=2)
        self.assertIn("--stem", done.err)

    def test_ranges_directions_and_pages(self):
        self.create()
        self.ingest("station,ts,n\n" + "".join(f"a,{i * 40000000},{i}\n" for i in range(100)))

        def numbers(*options):
            return [int(r["n"]) for r in self.scan(*options)]

        self.assertEqual(numbers(), list(range(100)))
        self.assertEqual(numbers("--desc"), list(range(99, -1, -1)))
        self.assertEqual(numbers("--from", "1970-01-01T11:06:40Z", "--to", "120000000"), [1, 2])
        self.assertEqual(numbers("--from", 120000000, "--to", 40000000), [2, 1])
        self.assertEqual(numbers("--to", 40000000), [0])
        self.assertEqual(numbers("--from", 3920000000), [98, 99])
        self.assertEqual(numbers("--desc", "--limit", 3), [99, 98, 97])
        self.scan_text("--from", 5, "--to", 5, expect=2)
        for size in (1, 7, 33, 100, 1000):
            got, token = [], []
            while True:
                done = self.run_tool("scan", "--store", self.store, "--table", "air", "--entity",
                                     "a", "--format", "csv", "--limit", size, *token)
                got += [int(r["n"]) for r in csv.DictReader(io.StringIO(done.out.decode()))]
                if "--token" not in done.err:
                    break
                token = ["--token", done.err.split("--token ")[1].strip()]
            self.assertEqual(got, list(range(100)), size)
        self.assertIn("not what an earlier scan printed",
                      self.run_tool("scan", "--store", self.store, "--table", "air", "--entity",
                                    "a", "--token", "x", expect=2).err)
        self.run_tool("scan", "--store", self.store, "--table", "air", "--entity", "a", "--token",
                      "5.00ff00", expect=2)

    def test_table_format(self):
        self.create()
        self.ingest("station,ts,temp,wd\na,0,1.5,N\na,1,,SSW\n")
        out = self.run_tool("scan", "--store", self.store, "--table", "air", "--entity", "a",
                            "--columns", "temp,wd").out.decode()
        self.assertEqual(out, "temp  wd\n----  ---\n 1.5  N\n   -  SSW\n")

    def test_expiry(self):
        self.create()
        self.ingest("station,ts,n\na,1,1\n", "--ttl", "1")
        self.ingest("station,ts,n\na,2,2\n")
        time.sleep(2.1)
        self.assertEqual([r["n"] for r in self.scan()], ["2"])
        self.assertIn("--ttl", self.ingest("", "--ttl", "700000000", expect=2).err)

    def test_delete(self):
        self.create()
        hour = 3_600_000
        self.ingest("station,ts,n\n" + "".join(f"a,{i * hour},{i}\n" for i in range(72)))

        def delete(*options, **kwargs):
            return self.run_tool("delete", "--store", self.store, "--table", "air", "--entity", "a",
                                 *options, **kwargs)

        self.assertEqual(delete("--at", "1970-01-01T05:00:00Z").out,
                         b"deleted in air: the row at 1970-01-01T05:00:00Z of a\n")
        self.assertEqual(delete("--from", 10 * hour, "--to", "1970-01-01T20:00:00Z").out,
                         b"deleted in air: the rows from 36000000 on and before "
                         b"1970-01-01T20:00:00Z of a\n")
        self.assertEqual(delete("--bucket", "1970-01-02").out,
                         b"deleted in air: the bucket 1970-01-02 of a\n")
        self.assertEqual(delete("--bucket-of", "1970-01-03T23:00:00Z").out,
                         b"deleted in air: the bucket of 1970-01-03T23:00:00Z of a\n")
        left = [i for i in range(24) if i != 5 and not 10 <= i < 20]
        self.assertEqual([int(r["n"]) for r in self.scan()], left)
        self.ingest(f"station,ts,n\na,{30 * hour},30\n")
        self.assertEqual([int(r["n"]) for r in self.scan()], [*left, 30])
        delete(expect=2)
        delete("--at", "1", "--bucket", "1970-01-02", expect=2)
        delete("--from", "5", expect=2)
        self.assertIn("--bucket 'never'", delete("--bucket", "never", expect=2).err)
        delete("--at", "soon", expect=2)

    def test_delete_row_of_a_longer_key(self):
        self.create(PUMPS)
        self.ingest("site,pump,ts,part,value\n1,p,5,x,1\n1,p,5,y,2\n", table="pumps")
        self.run_tool("delete", "--store", self.store, "--table", "pumps", "--entity",
                      "site=1,pump=p", "--at", "5", "--key", "part=x")
        self.assertEqual([r["part"] for r in self.scan(table="pumps", entity="site=1,pump=p")],
                         ["y"])
        self.run_tool("delete", "--store", self.store, "--table", "pumps", "--entity",
                      "site=1,pump=p", "--at", "5", expect=2)

    def test_inventory(self):
        self.create()
        self.ingest("station,ts,n\na,0,1\na,1,1\na,86400000,1\nb,5,1\n")
        text = self.run_tool("buckets", "--store", self.store, "--format", "csv").out.decode()
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual([(r["table"], r["entity"], r["bucket"].strip("'"), r["versions"],
                           r["state"]) for r in rows],
                         [("air", "a", "1970-01-01", "2", "open"),
                          ("air", "a", "1970-01-02", "1", "open"),
                          ("air", "b", "1970-01-01", "1", "open")])
        self.assertEqual(rows[0]["first"], "1970-01-01T00:00:00.000Z")
        self.assertEqual(rows[0]["last"], "1970-01-01T00:00:00.001Z")
        text = self.run_tool("buckets", "--store", self.store, "--entity", "b").out.decode()
        self.assertEqual(len(text.splitlines()), 4)
        out = self.run_tool("stats", "--store", self.store, "--json").out.decode()
        stats = json.loads(out)
        self.assertEqual(stats["versions_written"], 4)
        self.assertEqual(stats["versions_written"],
                         stats["versions_open"] + stats["versions_superseded"])
        self.assertIn("versions_open", self.run_tool("stats", "--store", self.store).out.decode())
        self.assertIn("0 problems", self.run_tool("verify", "--store", self.store).out.decode())

    # --- signals and pipes

    def interrupted(self, number, code):
        self.create()
        with subprocess.Popen([BIN, "ingest", "--store", self.store, "--table", "air",
                               "--batch-rows", "60000", "-"], stdin=subprocess.PIPE,
                              stderr=subprocess.PIPE, cwd=self.directory) as process:
            process.stdin.write(b"station,ts\n" + b"".join(b"a,%d\n" % i for i in range(1000)))
            process.stdin.flush()
            time.sleep(1)
            process.stdin.write(b"".join(b"a,%d\n" % i for i in range(1000, 1100)))
            process.stdin.flush()
            time.sleep(0.1)
            process.send_signal(number)
            # Standard input stays open: the signal alone must end it.
            self.assertEqual(process.wait(timeout=30), code)
            self.assertIn(b"rows stored in air, interrupted", process.stderr.read())
        self.assertGreaterEqual(len(self.scan()), 1000)
        self.assertIn("0 problems", self.run_tool("verify", "--store", self.store).out.decode())

    def test_interrupt(self):
        self.interrupted(signal.SIGINT, 130)

    def test_terminate(self):
        self.interrupted(signal.SIGTERM, 143)

    def interrupted_twice(self, pause_s):
        """The code and the last words of an ingest that gets a second signal before its end."""
        self.create()
        reader, writer = os.pipe()  # full and not read yet: who prints into it waits
        os.set_blocking(writer, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writer, b"x" * 4096)
        os.set_blocking(writer, True)
        with subprocess.Popen([BIN, "ingest", "--store", self.store, "--table", "air", "-"],
                              stdin=subprocess.PIPE, stderr=writer,
                              cwd=self.directory) as process, os.fdopen(reader, "rb") as words:
            os.close(writer)
            process.stdin.write(b"station,ts\nb,2024-01-01\n")
            process.stdin.flush()
            time.sleep(1)
            process.send_signal(signal.SIGTERM)
            time.sleep(pause_s)
            self.assertIsNone(process.poll())
            process.send_signal(signal.SIGTERM)
            time.sleep(0.1)
            told = words.read().lstrip(b"x").decode()
            return process.wait(timeout=30), told

    def test_signals_that_come_at_once_are_one(self):
        code, told = self.interrupted_twice(pause_s=0.2)
        self.assertEqual((code, told), (143, "cistern: 1 row stored in air, interrupted\n"))

    def test_a_later_signal_ends_the_process_at_once(self):
        self.assertEqual(self.interrupted_twice(pause_s=1.2), (-signal.SIGTERM, ""))

    def test_rows_are_stored_while_the_input_is_quiet(self):
        with self.holder_of_store() as holder:
            holder.kill()
            holder.wait()
        self.assertEqual(len(self.scan()), 1)

    def test_reader_that_had_enough(self):
        self.create()
        self.ingest("station,ts,n\n" + "".join(f"a,{i},{i}\n" for i in range(50000)))
        words = ["scan", "--store", self.store, "--table", "air", "--entity", "a",
                 "--format", "csv"]
        with subprocess.Popen([BIN, *words], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            process.stdout.readline()
            process.stdout.close()
            self.assertEqual(process.wait(timeout=60), 0)
            self.assertEqual(process.stderr.read(), b"")

    # --- hostile places

    def mount_small_disk(self, size):
        """The store is on it then."""
        disk = self.directory / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", disk],
                                 capture_output=True, check=False)
        if mounted.returncode != 0:
            self.skipTest("a small file system cannot be mounted here: "
                          + mounted.stderr.decode().strip())
        self.addCleanup(subprocess.run, ["umount", "-l", disk], check=False)
        self.store = disk / "store"
        return disk

    def test_a_disk_that_is_too_small_is_told_who_makes_the_store(self):
        disk = self.mount_small_disk("12m")
        told = self.create().err
        self.assertRegex(told, r"(?m)^cistern: no room for the ballast of \d+ bytes: \d+ are free, "
                               r"and \d+ are needed; rows are refused until there is room$")
        subprocess.run(["mount", "-o", "remount,size=96m", disk], check=True)
        self.assertEqual(self.create().err, "")
        self.ingest("station,ts,n\nb,1,1\n")

    def test_full_disk(self):
        disk = self.mount_small_disk("24m")
        self.create()
        with open("/dev/urandom", "rb") as noise:
            rows = "".join(f"a,{i},{noise.read(300).hex()}\n" for i in range(60000))
        done = self.ingest("station,ts,wd\n" + rows, expect=4)
        self.assertIn("are stored", done.err)
        stored = int(done.err.split(" rows stored")[0].split()[-1])
        # What was answered is there, once there is room again as before.
        subprocess.run(["mount", "-o", "remount,size=96m", disk], check=True)
        self.assertGreaterEqual(len(self.scan("--columns", "ts")), stored)
        self.ingest("station,ts,n\nb,1,1\n")
        self.assertIn("0 problems", self.run_tool("verify", "--store", self.store).out.decode())

    def test_read_only_directory(self):
        self.create()
        self.ingest("station,ts,n\na,1,1\n")
        if os.geteuid() == 0:  # permissions do not bind root: a read-only mount does
            mounted = subprocess.run(["mount", "--bind", self.store, self.store],
                                     capture_output=True, check=False)
            if mounted.returncode == 0:
                self.addCleanup(subprocess.run, ["umount", "-l", self.store], check=False)
                mounted = subprocess.run(["mount", "-o", "remount,bind,ro", self.store],
                                         capture_output=True, check=False)
            if mounted.returncode != 0:
                self.skipTest("running as root, whom permissions do not bind, and a read-only "
                              "mount is not possible: " + mounted.stderr.decode().strip())
        else:
            self.store.chmod(0o555)
            self.addCleanup(self.store.chmod, 0o755)
        done = self.ingest("station,ts,n\na,2,2\n", expect=3)
        self.assertIn("cannot open the store", done.err)
        self.assertEqual([r["n"] for r in self.scan()], ["1"])
        if os.geteuid() == 0:
            self.assertIn(f"mounted for reading alone: `findmnt -T {self.store}` names where, and "
                          "`mount -o remount,rw`", done.err)
            subprocess.run(["mount", "-o", "remount,bind,rw", self.store], check=True)
            self.ingest("station,ts,n\na,2,2\n")

    def damage(self, pattern):
        """Flips bits in the middle of the largest file that matches."""
        file = max(self.store.glob(pattern), key=lambda f: f.stat().st_size)
        data = bytearray(file.read_bytes())
        for i in range(len(data) // 4, len(data) // 2, 512):
            data[i] ^= 0x55
        file.write_bytes(data)

    def files(self):
        return {f.name: f.read_bytes() for f in self.store.iterdir() if f.is_file()}

    def test_readers_of_a_damaged_store_are_told_what_to_do(self):
        self.create()
        self.ingest("station,ts,n\na,1,1\n")
        whole = self.files()
        manifest = next(self.store.glob("MANIFEST-*"))
        sst = next(self.store.glob("*.sst"), None)

        def flip(path):
            data = bytearray(path.read_bytes())
            data[len(data) // 2] ^= 0x55
            path.write_bytes(data)

        damages = {
            manifest.name: manifest.unlink,
            "CURRENT": lambda: (self.store / "CURRENT").write_text("MANIFEST-000099\n"),
            manifest.name + " ": lambda: flip(manifest),
        }
        if sst:
            damages[sst.stem] = sst.unlink
        for file, damage in damages.items():
            damage()
            for command in (("verify",), ("scan", "--table", "air", "--entity", "a")):
                done = self.run_tool(command[0], "--store", self.store, *command[1:], expect=3)
                self.assertIn(f"`cistern salvage --store {self.store} --to NEW` (Salvage in the "
                              "library) reads the rows by CATALOG-1 or -2", done.err, file)
                self.assertIn("restore the directory from a backup", done.err, file)
                if file != "CURRENT":  # RocksDB names the MANIFEST that it names
                    self.assertIn(file.strip(), done.err)
            for name, data in whole.items():
                (self.store / name).write_bytes(data)
        self.assertEqual(len(self.scan()), 1)

    def test_a_log_that_cannot_be_read_in_part_names_the_repair(self):
        self.create()
        for first in range(0, 20000, 4000):
            self.ingest("station,ts,temp\n" + "".join(
                f"s{i % 50},{i * 1000},{i}.5\n" for i in range(first, first + 4000)))
        whole = self.files()
        logs = [log for log in self.store.glob("*.log") if log.stat().st_size > 0]
        repairs = 0
        for log in logs:
            for part in range(1, 8):
                data = bytearray(whole[log.name])
                data[len(data) * part // 8] ^= 0x55
                log.write_bytes(data)
                done = subprocess.run([BIN, "verify", "--store", self.store], capture_output=True,
                                      check=False, timeout=60)
                self.assertIn(done.returncode, (1, 3), done)
                self.assertIn(b"(*.log)", done.stderr)
                repairs += b"pening the store for writing repairs it" in done.stderr
                log.write_bytes(whole[log.name])
        self.assertEqual(repairs, 7 * len(logs))

    def test_seal(self):
        self.create()
        self.ingest("station,ts,n\na,1,1\na,86400000,2\nb,1,3\n")
        seal = ("seal", "--store", self.store)
        scan = ("scan", "--store", self.store, "--table", "air", "--entity", "a", "--limit", 9)
        before = self.run_tool(*scan).out
        self.assertIn(b"0 buckets sealed", self.run_tool(*seal, "--due").out)  # rows just came
        one = self.run_tool(*seal, "--table", "air", "--entity", "a", "--bucket", "1970-01-01")
        self.assertIn(b"1 bucket sealed (0 amendments)", one.out)
        self.assertIn(b"2 buckets sealed (0 amendments)", self.run_tool(*seal, "--all").out)
        self.assertEqual(self.run_tool(*scan).out, before)
        self.ingest("station,ts,n\na,2,4\n")
        self.assertIn(b"1 bucket sealed (1 amendment)", self.run_tool(*seal, "--all").out)
        buckets = self.run_tool("buckets", "--store", self.store, "--format", "csv").out.decode()
        table = {(r["entity"], r["bucket"].strip("'")): r
                 for r in csv.DictReader(io.StringIO(buckets))}
        self.assertEqual({r["state"] for r in table.values()}, {"sealed"})
        self.assertEqual(table["a", "1970-01-01"]["seals"], "2")
        self.assertIn(b" 0 problems", self.run_tool("verify", "--store", self.store).out)
        stats = json.loads(self.run_tool("stats", "--store", self.store, "--json").out)
        self.assertEqual([stats["versions_" + what] for what in
                          ("sealed", "waiting", "parked", "confirmed", "confirmed_by_count",
                           "confirmed_by_rows")], [4, 4, 0, 0, 0, 0])
        for wrong in ((), ("--due", "--all"), ("--entity", "a"), ("--all", "--table", "none"),
                      ("--table", "air", "--entity", "a", "--bucket", "not a day")):
            self.run_tool(*seal, *wrong, expect=2)

    def test_histograms(self):
        self.create()
        self.ingest("station,ts,n\n" + "".join(
            f"s{i},{k},1\n" for i in range(1, 101) for k in range(i)))
        self.run_tool("seal", "--store", self.store, "--all")
        out = self.run_tool("histograms", "--store", self.store, "--json").out.decode()
        sizes = json.loads(out)
        self.assertEqual((sizes["table"], sizes["buckets"]), ("air", 100))
        self.assertEqual(sizes["rows"], {"min": 1, "p50": 50, "p75": 75, "p95": 95, "p98": 98,
                                         "p99": 99, "max": 100})
        self.assertLess(sizes["bytes"]["min"], sizes["bytes"]["max"])
        text = self.run_tool("histograms", "--store", self.store, "--table", "air").out.decode()
        self.assertEqual(len(text.splitlines()), 2 + 7)
        self.run_tool("histograms", "--store", self.store, "--table", "none", expect=2)

    def test_bucket_filters(self):
        self.create()
        day = 86400000
        self.ingest(f"station,ts\na,0\na,{day}\na,{2 * day}\nb,0\n")
        self.run_tool("seal", "--store", self.store, "--table", "air", "--entity", "a",
                      "--bucket", "1970-01-01")

        def buckets(*options):
            text = self.run_tool("buckets", "--store", self.store, "--format", "csv",
                                 *options).out.decode()
            return [r["entity"] + r["bucket"].strip("'")[-2:]
                    for r in csv.DictReader(io.StringIO(text))]

        self.assertEqual(buckets(), ["a01", "a02", "a03", "b01"])
        self.assertEqual(buckets("--state", "sealed"), ["a01"])
        self.assertEqual(buckets("--state", "open", "--limit", "2"), ["a02", "a03"])
        self.assertEqual(buckets("--state", "quarantined"), [])
        self.assertEqual(buckets("--from", "1970-01-02"), ["a02", "a03"])
        self.assertEqual(buckets("--to", str(day)), ["a01", "b01"])
        self.assertEqual(buckets("--from", "1970-01-01T00:00:00.001Z", "--to", "1970-01-03"),
                         ["a02"])
        self.assertEqual(buckets("--from", "1970-01-02", "--to", str(day)), [])
        done = self.run_tool("buckets", "--store", self.store, "--from", "1970-01-03", "--to",
                             str(day), expect=2)
        self.assertIn(f"--from 1970-01-03 is later than --to {day}", done.err)
        self.run_tool("buckets", "--store", self.store, "--state", "lost", expect=2)
        done = self.run_tool("buckets", "--store", self.store, "--state", "opne", expect=2)
        self.assertIn("'opne' is not one of open, sealed, quarantined; did you mean open?",
                      done.err)
        for options, told in ((("--entity", "z"), "no table has rows of entity z"),
                              (("--entity", "z", "--table", "air"),
                               "table air has no rows of entity z"),
                              (("--entity", "b", "--state", "sealed"), "")):
            done = self.run_tool("buckets", "--store", self.store, *options)
            self.assertEqual(done.err, f"cistern: {told}\n" if told else "")
        self.run_tool("buckets", "--store", self.store, "--from", "noon", expect=2)

    def test_what_is_damaged_is_named_and_the_rest_saved(self):
        self.create()
        self.ingest("station,ts,n\n" + "".join(f"a,{i},{i}\nb,{i},{i}\n" for i in range(2000)))
        self.run_tool("seal", "--store", self.store, "--all")
        self.ingest("station,ts,n,wd\na,86400000,1,\nc,5,1,NE\n")  # in the journal
        window = next(p for p in self.store.glob("*.sst") if b"window-" in p.read_bytes())
        whole = window.read_bytes()
        window.write_bytes(whole[:200] + bytes([whole[200] ^ 1]) + whole[201:])
        done = self.run_tool("scan", "--store", self.store, "--table", "air", "--entity", "a",
                             "--format", "csv", expect=6)
        self.assertIn("nothing was printed from 1970-01-01T00:00:00.000Z", done.err)
        self.assertEqual(len(done.out.splitlines()), 2, "the header and the other day")
        self.assertEqual(len(self.scan(entity="c")), 1)
        done = self.run_tool("aggregate", "--store", self.store, "--table", "air", "--entity", "a",
                             "--step", "1s", "--of", "n:min", expect=6)
        self.assertIn("no line counts rows from 1970-01-01T00:00:00.000Z", done.err)
        done = self.run_tool("verify", "--store", self.store, expect=1)
        self.assertRegex(done.err, r"cistern: segment \d+ of air a 1970-01-01, page 0: (?!page)")

        window.unlink()
        done = self.run_tool("scan", "--store", self.store, "--table", "air", "--all-entities",
                             "--format", "csv", "--columns", "station,n", expect=6)
        self.assertEqual(done.out, b"station,n\na,1\nc,1\n")
        self.assertIn(window.name, done.err)
        done = self.run_tool("stats", "--store", self.store, "--json")
        stats = json.loads(done.out)
        self.assertIn(window.name, done.err)
        self.assertEqual(stats["versions_quarantined"], 4000)
        self.assertEqual(stats["versions_written"], 4002)
        self.assertEqual(stats["versions_open"], 2)
        text = self.run_tool("buckets", "--store", self.store, "--state", "quarantined",
                             "--format", "csv").out.decode()
        self.assertEqual(len(text.splitlines()), 3)
        self.ingest("station,ts,n\nc,6,1\n")  # it takes rows
        files = self.files()
        new = self.directory / "new"
        done = self.run_tool("salvage", "--store", self.store, "--to", new, expect=6)
        self.assertEqual(self.files(), files, "the damaged store is only read")
        self.assertIn("air: 2 buckets, 3 row versions saved, 4000 lost", done.out.decode())
        self.assertIn(window.name, done.err)
        self.run_tool("salvage", "--store", self.store, "--to", new, expect=2)
        self.run_tool("salvage", "--store", self.store, "--to", self.directory / "x", "--table",
                      "none", expect=2)
        self.run_tool("salvage", "--store", self.directory / "none", "--to",
                      self.directory / "x", "--table", "air", expect=3)
        window.write_bytes(whole)
        self.assertEqual(len(self.scan()), 2001)
        again = self.directory / "again"
        done = self.run_tool("salvage", "--store", self.store, "--to", again)
        self.assertIn("air: 4 buckets, 4003 row versions saved, 0 lost", done.out.decode())
        rows = {entity: self.scan_text(entity=entity) for entity in "abc"}
        self.store = again
        self.assertEqual({entity: self.scan_text(entity=entity) for entity in "abc"}, rows)
        self.assertIn("0 problems", self.run_tool("verify", "--store", again).out.decode())
        next(again.glob("MANIFEST-*")).unlink()
        done = self.run_tool("salvage", "--store", again, "--to", self.directory / "y", expect=6)
        self.assertIn("air: 4 buckets, 4003 row versions saved, 0 lost", done.out.decode())
        self.assertIn("files were read without it", done.err)
        self.assertNotIn("cistern salvage", done.err)
        self.store = self.directory / "y"
        self.assertEqual({entity: self.scan_text(entity=entity) for entity in "abc"}, rows)
        for copy in again.glob("CATALOG-*"):
            copy.unlink()
        done = self.run_tool("salvage", "--store", again, "--to", self.directory / "z", expect=3)
        self.assertIn("Put those files back from a backup", done.err)

    def test_expire(self):
        self.create()
        self.ingest("station,ts,n\na,1,1\nb,1,3\n", "--ttl", 1)
        self.run_tool("seal", "--store", self.store, "--all")
        time.sleep(1.1)
        expire = ("expire", "--store", self.store)
        gone = self.run_tool(*expire)
        self.assertIn(b"1 window dropped, 2 row versions expired", gone.out)
        self.ingest("station,ts,n\na,86400000,5\n")
        self.run_tool("seal", "--store", self.store, "--all")
        self.assertIn(b"0 windows", self.run_tool(*expire).out, "nobody has it")
        shed = self.run_tool(*expire, "--keep-unconfirmed", "60s")
        self.assertIn(b"1 window dropped, 0 row versions expired, 1 shed", shed.out)
        for text in ("0s", "soon", "-1d", "1y", "36501d"):
            done = self.run_tool(*expire, "--keep-unconfirmed", text, expect=2)
            self.assertIn(f"--keep-unconfirmed '{text}' is not ", done.err)
        done = self.run_tool(*expire, "--keep-unconfirmed", "60", expect=2)
        self.assertIn("--keep-unconfirmed '60' has no unit: 60s, 60m, 60h or 60d", done.err)
        self.run_tool(*expire, "--keep-unconfirmed", "36500d")
        again = self.run_tool(*expire)
        self.assertIn(b"0 windows dropped, 0 row versions expired", again.out)
        out = self.run_tool("stats", "--store", self.store, "--json").out.decode()
        stats = json.loads(out)
        self.assertEqual(stats["versions_written"], sum(
            stats["versions_" + of]
            for of in ("open", "sealed", "superseded", "expired", "shed", "quarantined")))
        self.assertIn(b" 0 problems", self.run_tool("verify", "--store", self.store).out)

    def test_verify_counts_damage_of_the_file_ACK(self):
        self.create()
        self.ingest("station,ts,n\na,1,1\n")
        ack = self.store / "ACK"
        whole = ack.read_bytes()
        for damage in (ack.unlink, lambda: ack.write_bytes(bytes(len(whole)))):
            damage()
            done = self.run_tool("verify", "--store", self.store, expect=1)
            self.assertIn("ACK", done.err)
            self.assertIn(b" 1 problem", done.out)
        ack.write_bytes(whole)
        self.assertIn(b" 0 problems", self.run_tool("verify", "--store", self.store).out)

    def test_an_answer_that_cannot_be_written_is_no_success(self):
        self.create()
        for command in ("verify", "tables", "stats", "buckets"):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([BIN, command, "--store", self.store], stdout=full,
                                      stderr=subprocess.PIPE, check=False, timeout=60)
            self.assertEqual(done.returncode, 4, command)
            self.assertIn(b"cannot write the output", done.stderr)

    def check_damage_is_reported(self):
        done = subprocess.run([BIN, "verify", "--store", self.store], capture_output=True,
                              check=False, timeout=60)
        self.assertIn(done.returncode, (1, 3), done)
        self.assertIn(b"cistern: ", done.stderr)

    def test_damaged_journal_is_reported(self):
        self.create()
        for first in range(0, 20000, 4000):
            self.ingest("station,ts,temp\n" + "".join(
                f"s{i % 50},{i * 1000},{i}.5\n" for i in range(first, first + 4000)))
        self.damage("*.log")
        self.check_damage_is_reported()

    def test_damaged_segments_are_reported(self):
        self.create()
        with open("/dev/urandom", "rb") as noise:  # more than a head holds
            self.ingest("station,ts,wd\n" + "".join(
                f"s{i % 50},{i * 1000},{noise.read(400).hex()}\n" for i in range(40000)))
        self.assertTrue(list(self.store.glob("*.sst")))
        # An ingest may end within a rotation: its file counts for nothing, until this drops it.
        self.ingest("station,ts,wd\ns0,0,00\n")
        self.damage("*.sst")
        self.check_damage_is_reported()

    def test_speed(self):
        """Not timed, but a batch is not a row: 50,000 rows are no burden."""
        self.create()
        done = self.ingest("station,ts,temp\n" +
                           "".join(f"s{i % 100},{i},{i / 8}\n" for i in range(50000)))
        self.assertIn("50000 rows stored in air", done.err)


if __name__ == "__main__":
    print(f"cistern: {BIN}", file=sys.stderr)
    unittest.main(verbosity=1)
