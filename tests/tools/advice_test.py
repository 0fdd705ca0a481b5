#!/usr/bin/env python3
"""Advice is true: what a message recommends is accepted, and helps.

The table has every message of the sources that recommends an option or a command. Its rows are run
against the tool: the situation brings the message, and what it says is done as it is printed.

Environment: CISTERN_BIN, CISTERN_SOURCE_DIR.
"""

import gzip
import os
import re
import shlex
import shutil
import subprocess
import time
import unittest
from pathlib import Path

from advice_scan import COMMAND, OPTION, find_advice
from advice_table import (COMMANDS, ELSEWHERE, INGEST, LOGIN, METHODS, MILLIS, TABLE, NoAdvice)
from cli_case import AIR, BIN, PUMPS, CliCase, Done

ROOT = Path(os.environ.get("CISTERN_SOURCE_DIR", Path(__file__).resolve().parents[2]))
SEEN = AIR.replace("n int,", "n int, seen timestamp,")


def filled(advice, fill):
    for name, value in fill.items():
        advice = advice.replace(name, value)
    return advice


def without(words, dropped):
    """`words` without the run of words that is left out; what is not a run is left out singly."""
    words, dropped = list(words), list(dropped)
    for at in range(len(words) - len(dropped) + 1):
        if dropped and words[at:at + len(dropped)] == dropped:
            return words[:at] + words[at + len(dropped):]
    for word in dropped:
        words.remove(word)
    return words


class TableTest(unittest.TestCase):
    """The sources and the table have the same advice."""

    def setUp(self):
        self.found = find_advice(ROOT)

    def test_every_advice_is_in_the_table(self):
        def is_known(literal):
            return any(literal == row.literal if isinstance(row, NoAdvice) and row.is_whole
                       else row.literal in literal for row in TABLE)

        missing = [f"{place}: {literal}" for place, literal in self.found if not is_known(literal)]
        self.assertEqual(missing, [], "add a row to tests/tools/advice_table.py that follows it")

    def test_every_row_is_of_a_message(self):
        literals = [literal for _, literal in self.found]
        stale = {row.literal for row in TABLE
                 if not any(row.literal in literal for literal in literals)}
        self.assertEqual(stale, set())

    def test_the_scan_finds_what_is_planted(self):
        self.assertGreater(len(self.found), 100)
        planted = [literal for place, literal in self.found
                   if place.startswith("tools/row_mapper_header.cc")]
        self.assertTrue(any("give it one with --map '{}=COLUMN', or leave" in literal
                            for literal in planted), planted)

    def test_what_is_followed_elsewhere_is(self):
        for row in ELSEWHERE:
            self.assertIn(row.words, (ROOT / row.path).read_text(), row)


class AdviceTest(CliCase):
    def ingest_with(self, text, options, env):
        data = text if isinstance(text, bytes) else text.encode()
        process = subprocess.run(
            [BIN, "ingest", "--store", self.store, "--table", "air", *options, "-"], input=data,
            capture_output=True, cwd=self.directory, check=False, timeout=120,
            env={**os.environ, **env})
        return Done(process)

    # --- the rows of the table

    def test_ingest(self):
        for number, row in enumerate(INGEST):
            with self.subTest(row.literal, advice=row.advice):
                self.store = self.directory / f"store-{number}"
                self.create(SEEN)
                self.follow_ingest(row)

    def follow_ingest(self, row):
        before = self.ingest_with(row.text, row.options, row.env)
        text, words = row.text, list(row.words)
        if row.advice.startswith("`"):
            self.assertIn(row.advice, before.err)
            text = subprocess.run(shlex.split(row.advice.strip("`")), capture_output=True,
                                  check=True, input=text if isinstance(text, bytes)
                                  else text.encode()).stdout
        elif row.advice:
            advice = row.advice
            if "\\d" in advice:
                told = re.search(advice, before.err)
                self.assertIsNotNone(told, before.err)
                advice = told.group(0)
            self.assertIn(advice, before.err)
            words = words or shlex.split(filled(advice, row.fill))
        else:
            self.assertRegex(before.err, r"leave|does nothing")
        options = without(row.options, row.drop)
        after = self.ingest_with(text, [*options, *words, *row.extra], row.env)
        self.assertEqual(after.code, row.code, after.err)
        if row.advice:
            self.assertNotIn(row.advice, after.err)
        if row.rows is not None:
            self.assertIn(f"cistern: {row.rows} row", after.err)
            self.assertIn(" stored in air", after.err)

    def test_commands(self):
        self.create(AIR)
        self.create(PUMPS)
        self.ingest(f"station,ts,n\na,{MILLIS},1\n")
        self.ingest("site,pump,ts,part,value\n1,x,5,a,1\n", table="plant.pumps")
        self.write("pw", "secret\n").chmod(0o600)
        filled_store = self.store
        for number, row in enumerate(COMMANDS):
            self.store = self.directory / f"store-{number}"
            shutil.copytree(filled_store, self.store)
            with self.subTest(row.literal, advice=row.advice):
                self.follow_command(row)

    def follow_command(self, row):
        def run(words, code):
            return self.run_tool(*(self.store if word == "S" else word for word in words),
                                 expect=code)

        before = run(row.words, row.before)
        told = before.err + before.out.decode()
        if row.advice:
            self.assertIn(row.advice, told)
        else:
            self.assertRegex(told, r"leave|does nothing")
        words = without(row.words, row.drop)
        extra = list(row.extra)
        if extra[:1] == ["SUBCOMMAND"]:  # the advice is another one's
            words, extra = [extra[1], *words], []
        after = run([*words, *shlex.split(filled(row.advice, row.fill)), *extra], row.code)
        if row.advice:
            self.assertNotIn(row.advice, after.err)

    # --- every word

    def test_every_option_and_command_that_is_named_exists(self):
        commands = re.findall(r"^  ([a-z]+)  ", self.run_tool("--help").out.decode(), re.M)
        self.assertIn("salvage", commands)
        paths = [(name,) for name in commands]
        paths += [("schema", name) for name in ("print", "diff", "apply", "import")]
        paths += [("sync", name) for name in ("status", "retry", "resend")]
        paths += [("backup", name) for name in ("list", "verify")]
        known = {"--help", "--version"}
        for path in paths:
            known |= set(OPTION.findall(self.run_tool(*path, "--help").out.decode()))
        silent = [row.literal for row in TABLE if isinstance(row, NoAdvice)]
        for place, literal in find_advice(ROOT):
            if any(part in literal for part in silent) or "iconv" in literal:
                continue
            for option in OPTION.findall(literal):
                self.assertIn(option, known, f"{place}: {literal}")
            for command in COMMAND.findall(literal):
                words = command.strip("`").split()
                if words[0] != "cistern":
                    continue
                if words[1].startswith("-"):
                    continue
                self.assertIn(words[1], commands, f"{place}: {literal}")
                if len(words) > 2 and (words[1] in ("schema", "sync", "backup")
                                       and not words[2].startswith("-")):
                    self.assertIn(tuple(words[1:3]), paths, f"{place}: {literal}")

    def test_every_situation_has_a_test(self):
        for row in METHODS:
            self.assertTrue(hasattr(self, row.name), row)

    # --- the rest

    def shell(self, command, expect=0):
        done = Done(subprocess.run(["sh", "-c", command], capture_output=True, cwd=self.directory,
                                   check=False, timeout=120))
        self.assertEqual(done.code, expect, f"{command}\n{done.out}\n{done.err}")
        return done

    def test_compressed_files(self):
        self.create()
        self.write("a b's.csv.gz", gzip.compress(f"station,ts\na,{MILLIS}\n".encode()))
        words = ("ingest", "--store", self.store, "--table", "air")
        told = self.run_tool(*words, "a b's.csv.gz", expect=2).err
        advice = re.search(r"on the way: (.*) \| cistern ingest \.\.\. -", told)
        self.assertIsNotNone(advice, told)
        self.shell(f"{advice.group(1)} | {shlex.join(map(str, (BIN, *words)))} -")
        self.assertEqual(len(self.scan()), 1)

    def test_two_files_with_a_start(self):
        self.create()
        for name in ("a.csv", "b.csv"):
            self.write(name, "n\n1\n2\n")
        words = ("ingest", "--store", self.store, "--table", "air", "--time-start", "2024-05-24",
                 "--time-step", "1s")
        told = self.run_tool(*words, "--set", "station=x", "a.csv", "b.csv", expect=2).err
        self.assertIn("--set 'COLUMN={stem}'", told)
        self.run_tool(*words, "--set", "station={stem}", "a.csv", "b.csv")
        for name in "ab":
            self.assertEqual(len(self.scan(entity=name)), 2)

    def test_a_token_continues(self):
        self.create()
        self.ingest("station,ts,n\na,1,1\na,2,2\n")
        scan = ("scan", "--store", self.store, "--table", "air", "--entity", "a", "--columns", "n",
                "--format", "csv", "--limit", "1")
        told = self.run_tool(*scan).err
        token = re.search(r"continue with (--token \S+)", told)
        self.assertIsNotNone(token, told)
        self.assertEqual(self.run_tool(*scan, *token.group(1).split()).out, b"n\n2\n")

    def test_a_token_continues_a_scan_from_now(self):
        """Whose bounds were other ones by the time at which it goes on."""
        self.create()
        now_ms = int(time.time() * 1000)
        self.ingest("station,ts,n\n" + "".join(f"a,{now_ms - i * 60_000},{i}\n"
                                               for i in (3, 2, 1)))
        for bounds, numbers in ((("--from", "-1h"), (3, 2, 1)),
                                (("--from", "-1h", "--to", "now", "--desc"), (1, 2, 3))):
            scan = ("scan", "--store", self.store, "--table", "air", "--entity", "a", *bounds,
                    "--columns", "n", "--format", "csv", "--limit", "1")
            token = ()
            for number in numbers:
                done = self.run_tool(*scan, *token)
                self.assertEqual(done.out, f"n\n{number}\n".encode())
                token = re.search(r"continue with (--token \S+)", done.err)[1].split()

    def test_a_token_continues_what_was_followed(self):
        self.create()
        self.ingest("station,ts,n\na,1,1\na,2,2\n")
        scan = ("scan", "--store", self.store, "--table", "air", "--entity", "a", "--columns", "n",
                "--format", "csv")
        told = self.run_tool(*scan, "--follow", "--limit", "1")
        self.assertEqual(told.out, b"n\n1\n")
        token = re.search(r"^cistern: continue with (--token \S+)$", told.err, re.M)
        self.assertIsNotNone(token, told.err)
        self.assertEqual(self.run_tool(*scan, *token.group(1).split()).out, b"n\n2\n")

    def test_help_of_what_is_mistyped(self):
        for words in (("scna",), ("schema", "dif"), ("scan", "--quite"), ("backup", "lst")):
            told = self.run_tool(*words, expect=2).err
            advice = re.search(r"see (cistern (?:\w+ )*--help)", told)
            self.assertIsNotNone(advice, told)
            self.run_tool(*advice.group(1).split()[1:])

    def test_a_password_in_a_file(self):
        words = ("sync", "--store", "NOWHERE", "--contact", "127.0.0.1:1", "--user", "u",
                 "--allow-cleartext-password")
        told = self.run_tool(*words, "--password", "secret", expect=2).err
        self.assertIn("a file of mode 600 and name that by --password-file", told)
        self.write("password", "secret\n").chmod(0o600)
        self.run_tool(*words, "--password-file", "password", expect=3)

    def test_a_password_that_others_can_read(self):
        self.write("it's mine", "secret\n").chmod(0o644)
        words = ("sync", "--store", "NOWHERE", "--contact", "127.0.0.1:1", *LOGIN,
                 "--password-file", "it's mine")
        told = self.run_tool(*words, expect=3).err
        advice = re.search(r"can read the password file it's mine: (chmod 600 .*)$", told, re.M)
        self.assertIsNotNone(advice, told)
        self.shell(advice.group(1))
        self.assertNotIn("can read", self.run_tool(*words, expect=3).err)

    def test_a_directory_of_backups(self):
        self.create()
        backups = self.directory / "all of them"
        self.run_tool("backup", "--store", self.store, "--to", backups)
        told = self.run_tool("stats", "--store", backups, expect=3).err
        advice = re.search(r"; these are backups: cistern (restore .* --to )NEW makes", told)
        self.assertIsNotNone(advice, told)
        self.run_tool(*shlex.split(advice.group(1)), "restored")
        self.run_tool("stats", "--store", "restored")

    def test_where_there_is_no_store(self):
        self.write("air.cql", AIR)
        told = self.run_tool("stats", "--store", "not there", expect=3).err
        advice = re.search(r", cistern (create .*) FILE\.cql makes it", told)
        self.assertIsNotNone(advice, told)
        self.run_tool(*shlex.split(advice.group(1)), "air.cql")
        self.run_tool("stats", "--store", "not there")

    def test_a_reject_file_that_cannot_be(self):
        self.create()
        (self.directory / "stdin.reject").mkdir()
        told = self.ingest("station,ts\nx\n", expect=4).err
        self.assertIn("name another file with --reject", told)
        self.assertIn("1 line rejected to other", self.ingest("station,ts\nx\n", "--reject",
                                                              "other", expect=1).err)

    def test_reject_files_with_other_headers(self):
        self.create()
        for number in range(1, 1001):
            name = "stdin.reject" if number == 1 else f"stdin.reject.{number}"
            self.write(name, "other\n")
        told = self.ingest("station,ts\nx\n", expect=4).err
        self.assertIn("1000 files of that name have other headers; name another file with --reject",
                      told)
        self.ingest("station,ts\nx\n", "--reject", "other", expect=1)

    def test_an_encoding_that_is_not_known(self):
        self.create()
        text = f"station,ts,wd\na,{MILLIS},север\n".encode("koi8-r")
        told = self.ingest(text, "--encoding", "koi8-r", expect=2).err
        self.assertIn("`iconv -t UTF-8` makes UTF-8 of others", told)
        mended = subprocess.run(["iconv", "-f", "koi8-r", "-t", "UTF-8"], input=text,
                                capture_output=True, check=True).stdout
        self.ingest(mended)
        self.assertEqual([row["wd"] for row in self.scan()], ["север"])

    def test_a_keyspace_that_nothing_needs(self):
        self.create(PUMPS)
        words = ("sync", "--store", self.store, "--contact", "127.0.0.1:1")
        told = self.run_tool(*words, "--keyspace", "plant", expect=2).err
        self.assertIn("and here none is; leave it out", told)
        self.run_tool(*words)

    def test_a_pattern_with_a_blank(self):
        self.create()
        text = "station,ts\na,24.05.2024\n"
        self.assertIn("leave it out", self.ingest(text, "--time-format", "%d.%m.%Y ",
                                                  expect=2).err)
        self.ingest(text, "--time-format", "%d.%m.%Y")

    def test_an_empty_setting(self):
        config = self.write("sync.toml", 'store = "NOWHERE"\ncontact = "127.0.0.1:1"\nuser = ""\n')
        told = self.run_tool("sync", "--config", config, expect=2).err
        self.assertIn("sync.toml:3: user is empty; leave it out", told)
        self.write("sync.toml", 'store = "NOWHERE"\ncontact = "127.0.0.1:1"\n')
        self.run_tool("sync", "--config", config, expect=3)

    def test_what_is_useless_is_left_out(self):
        self.create()
        self.write("in.csv", f"station,ts\na,{MILLIS}\n")
        words = ("ingest", "--store", self.store, "--table", "air", "in.csv")
        self.assertIn("none is sealed while files are read; leave it out",
                      self.run_tool(*words, "--seal-idle", "1m", expect=2).err)
        self.run_tool(*words)
        config = self.write("sync.toml", 'store = "NOWHERE"\ncontact = "127.0.0.1:1"\n'
                                         'drain = "oldest"\nlive_percent = 50\n')
        told = self.run_tool("sync", "--config", config, expect=2).err
        self.assertIn("sync.toml:4: live_percent is of drain live-first; leave it out", told)
        self.write("sync.toml", 'store = "NOWHERE"\ncontact = "127.0.0.1:1"\ndrain = "oldest"\n')
        self.run_tool("sync", "--config", config, expect=3)

    def test_a_table_that_is_there_and_differs(self):
        self.create()
        wider = AIR.replace("n int,", "n int, more int,")
        self.assertIn("AlterTable (cistern alter) changes a table",
                      self.create(wider, expect=2).err)
        self.run_tool("alter", "--store", self.store, "--table", "air", "--schema",
                      self.write("wider.cql", wider))
        self.create(wider)

    def test_statements_that_are_not_needed(self):
        for statement in ("USE plant;\n", "CREATE KEYSPACE plant WITH replication = {};\n"):
            self.assertIn("is not needed: leave it out, and name tables keyspace.table",
                          self.create(statement + PUMPS, expect=2).err)
        self.create(PUMPS)

    def test_a_unit_of_a_timeuuid(self):
        text = ("CREATE TABLE t (a text, day date, id timeuuid, PRIMARY KEY ((a, day), id))"
                " WITH comment = 'cistern: bucket day = 1 day; time id = us';")
        self.assertIn("leave the time clause out", self.create(text, expect=2).err)
        self.create(text.replace("; time id = us", ""))

    def test_a_list_that_is_not_frozen(self):
        told = self.create(AIR.replace("n int,", "n list<int>,"), expect=2).err
        self.assertIn("write frozen<list<...>>", told)
        self.assertIn("leave it out here", told)
        self.create(AIR.replace("n int,", "n frozen<list<int>>,"))
        self.store = self.directory / "without"
        self.create(AIR.replace("n int,", ""))

    def test_a_static_column_without_timestamps_of_events(self):
        text = ("CREATE TABLE t (a text, day date, ts timestamp, s text static, n int, "
                "PRIMARY KEY ((a, day), ts)) WITH comment = 'cistern: bucket day = 1 day';")
        told = self.create(text, expect=2).err
        self.assertIn("needs timestamps = event in the comment", told)
        self.assertIn("Or leave it out", told)
        self.create(text.replace("1 day'", "1 day; timestamps = event'"))
        self.store = self.directory / "without"
        self.create(text.replace("s text static, ", ""))

    def test_a_backup_that_is_not_there(self):
        self.create()
        self.run_tool("backup", "--store", self.store, "--to", "all")
        told = self.run_tool("restore", "--from", "all", "--to", "new", "--number", "7",
                             expect=3).err
        self.assertIn("`cistern backup list` (ListBackups", told)
        listed = self.run_tool("backup", "list", "--from", "all", "--format", "csv").out.decode()
        number = listed.splitlines()[1].split(",")[0]
        self.run_tool("restore", "--from", "all", "--to", "new", "--number", number)


if __name__ == "__main__":
    os.environ["TZ"] = "UTC"
    unittest.main(verbosity=1)
