#!/usr/bin/env python3
"""A person with a damaged store: what the tool says, what it advises, and what comes of that.

Environment: CISTERN_BIN.
"""

import json
import os
import random
import re
import shlex
import shutil
import unittest

from cli_case import CliCase


class DamageTest(CliCase):
    def fill(self):
        """The store, with a row in its journal."""
        self.create()
        self.ingest("station,ts,n\na,1,1\n")

    def told_command(self, told, name):
        """The command of that name that a message has in `...`, as a shell takes its words."""
        advice = re.search(rf"`cistern ({name} .+?)`", told)
        self.assertIsNotNone(advice, told)
        return shlex.split(advice.group(1))

    # --- a store that cannot be opened

    def test_the_advice_to_salvage_names_the_store(self):
        """It is pasted beside a healthy store of the name that an example would have."""
        self.store = self.directory / "S"
        self.create()
        self.ingest("station,ts,n\nhealthy,1,2\n")
        for name in ("plain", "it's mine"):
            self.store = self.directory / name
            self.fill()
            for manifest in self.store.glob("MANIFEST-*"):
                manifest.unlink()
            told = self.run_tool("stats", "--store", name, expect=3).err
            saved = self.run_tool(*self.told_command(told, "salvage"), expect=6)
            self.assertNotIn("cistern salvage", saved.err)
            self.store = self.directory / "NEW"
            self.assertEqual([row["n"] for row in self.scan()], ["1"])
            shutil.rmtree(self.store)

    def test_a_file_that_an_opening_writes_anew(self):
        current = self.directory / "it's mine" / "CURRENT"
        self.store = current.parent
        self.fill()
        for damage in (current.unlink, lambda: current.write_text(""),
                       lambda: current.write_text("hello")):
            damage()
            told = self.run_tool("stats", "--store", "it's mine", expect=3).err
            self.assertRegex(told, "the file CURRENT (is missing|is empty|names no MANIFEST); ")
            self.assertNotIn("salvage", told)
            rows = self.run_tool(*self.told_command(told, "backup"))
            self.assertIn("CURRENT", rows.err)
            self.assertEqual([row["n"] for row in self.scan()], ["1"])
            self.assertEqual(self.run_tool("stats", "--store", self.store).err, "")

    def test_what_cannot_be_opened_is_said_once(self):
        self.fill()
        for manifest in self.store.glob("MANIFEST-*"):
            data = bytearray(manifest.read_bytes())
            data[len(data) // 2] ^= 0x55
            manifest.write_bytes(data)
        for command in (("stats",), ("seal", "--due")):
            told = self.run_tool(command[0], "--store", self.store, *command[1:], expect=3).err
            self.assertIn(f"cannot open the store {self.store}: ", told)
            self.assertNotIn("cannot be opened", told)

    # --- a file of rows that is gone

    def lose_a_file(self):
        """A day of a and b is sealed, and its file is gone then; c has a row in the journal."""
        self.create()
        self.ingest("station,ts,n\n" + "".join(f"a,{i},{i}\nb,{i},{i}\n" for i in range(100)))
        self.run_tool("seal", "--store", self.store, "--all")
        self.ingest("station,ts,n\nc,5,1\n")
        window = next(p for p in self.store.glob("*.sst") if b"window-" in p.read_bytes())
        whole = window.read_bytes()
        window.unlink()
        return window, whole

    def test_a_quarantined_file_ends_those_with_6_whose_result_lacks_its_rows(self):
        """And no others: a job of the night that seals and sends goes on."""
        window, _ = self.lose_a_file()
        air = ("--table", "air")
        for words, code in ((("scan", *air, "--entity", "a"), 6),
                            (("scan", *air, "--all-entities"), 6),
                            (("aggregate", *air, "--entity", "b", "--step", "1h", "--of", "n:min"),
                             6),
                            (("scan", *air, "--entity", "c"), 0),
                            (("scan", *air, "--entity", "a", "--from", "2024-01-01"), 0),
                            (("tables",), 0), (("entities", *air), 0), (("buckets",), 0),
                            (("stats",), 0), (("verify",), 1), (("ingest", *air, "-"), 0),
                            (("seal", "--due"), 0), (("seal", "--all"), 0), (("expire",), 0)):
            done = self.run_tool(words[0], "--store", self.store, *words[1:], expect=code,
                                 stdin=b"station,ts,n\nc,6,1\n")
            self.assertIn(window.name, done.err, words)
            self.assertEqual(done.err.count("put the files back"), 1, done.err)
        counters = self.run_tool("stats", "--store", self.store, "--json").out
        self.assertEqual(json.loads(counters)["versions_quarantined"], 200)
        self.run_tool("backup", "--store", self.store, "--to", "BACKUPS", expect=6)

    def test_what_to_do_about_a_quarantined_file(self):
        self.store = self.directory / "it's mine"
        window, whole = self.lose_a_file()
        told = self.run_tool("stats", "--store", "it's mine").err
        self.assertIn("are quarantined; put the files back from a backup of this store, or", told)
        saved = self.run_tool(*self.told_command(told, "salvage"), expect=6)
        self.assertEqual(saved.out, b"air: 1 bucket, 1 row version saved, 200 lost\n")
        self.assertNotIn("cistern salvage", saved.err)
        self.assertNotIn("put the files back", saved.err)
        window.write_bytes(whole)
        self.assertEqual(self.run_tool("stats", "--store", self.store).err, "")
        self.assertEqual(len(self.scan()), 100)

    # --- rows that are gone from the journal

    def expect_unknown_loss(self, told):
        """Salvage saves what there is, and does not claim that it is all."""
        done = self.run_tool("salvage", "--store", self.store, "--to", "new", expect=6)
        lines = done.out.decode().splitlines()
        self.assertEqual(len(lines), 1, lines)
        self.assertRegex(lines[0], r"^air: \d+ buckets?, \d+ row versions? saved, how many were "
                                   r"lost is not known$")
        self.assertRegex(done.err, told)
        self.assertNotIn("repairs it", done.err)
        self.assertNotIn("cistern ", done.err.replace("cistern: ", ""))
        again = self.run_tool("salvage", "--store", self.store, "--to", "again", "--json",
                              expect=6)
        one = json.loads(again.out)
        self.assertEqual((one["versions_lost"], one["versions_lost_known"]), (0, False))
        for made in ("new", "again"):
            shutil.rmtree(self.directory / made)
        return int(re.search(r"(\d+) row versions? saved", lines[0]).group(1))

    def test_salvage_takes_the_memory_that_a_large_journal_needs(self):
        """And does not advise to open the store for writing, where that may give records up."""
        self.create()
        draw = random.Random(1)
        self.ingest("station,ts,wd\n" + "".join(
            f"a,{i},{draw.randbytes(30_000).hex()}\n" for i in range(900)),
            "--memory-budget", "256MiB")
        salvage = ("salvage", "--store", self.store, "--to", "new")
        told = self.run_tool(*salvage, "--memory-budget", "16MiB", expect=4).err
        self.assertTrue(told.endswith("raise it (cistern --memory-budget)\n"), told)
        self.assertEqual(self.run_tool(*salvage).out,
                         b"air: 1 bucket, 900 row versions saved, 0 lost\n")

    def test_salvage_does_not_know_what_a_damaged_log_had(self):
        self.make_journal()
        self.lose_rows()
        saved = self.expect_unknown_loss(
            r"nothing is left to tell of which tables the rows of \d+ acknowledged journal "
            r"records? were, which are missing")
        self.assertLess(saved, 20000)
        (self.store / "ACK").unlink()
        self.expect_unknown_loss("the file ACK is missing")

    def test_salvage_does_not_know_what_a_removed_log_had(self):
        self.fill()
        self.run_tool("seal", "--store", self.store, "--all")
        self.ingest("station,ts,n\n" + "".join(f"b,{i},{i}\n" for i in range(500)))
        for log in self.store.glob("*.log"):
            log.unlink()
        self.assertEqual(self.expect_unknown_loss("acknowledged journal records?"), 1)

    def test_salvage_does_not_know_whether_rows_are_lost_without_ack(self):
        self.fill()
        (self.store / "ACK").write_bytes(bytes(1024))
        self.assertEqual(self.expect_unknown_loss("the file ACK is damaged"), 1)


if __name__ == "__main__":
    os.environ["TZ"] = "UTC"
    unittest.main(verbosity=1)
