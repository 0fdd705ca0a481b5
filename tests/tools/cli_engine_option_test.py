"""The engine's budgets, and its rules of sealing and retention, as options of commands.

Environment: CISTERN_BIN, CISTERN_FAKE_CLUSTER.
"""

import base64
import json
import random
import re
import subprocess
import time
import unittest

from cli_case import AIR, BIN, CliCase
from cli_cluster import KEYSPACE, cluster

DAY_MS = 86_400_000


class EngineOptionTest(CliCase):
    def fill(self, days_ago):
        """Rows of a bucket of so many days ago."""
        noon_ms = int(time.time() * 1000) // DAY_MS * DAY_MS - days_ago * DAY_MS + DAY_MS // 2
        self.ingest("station,ts,n\n" + "".join(f"a,{noon_ms + i},{i}\n" for i in range(5)))
        time.sleep(1.1)  # the rules count in seconds

    def seal(self, *options, **kwargs):
        return self.run_tool("seal", "--store", self.store, *options, **kwargs)

    # --- sealing

    def test_what_is_due_goes_by_options(self):
        self.create()
        self.fill(days_ago=3)
        for options, told in (
                ((), "rows came less than 5 minutes ago (1)"),
                (("--seal-idle", "2h"), "rows came less than 2h ago (1)"),
                (("--seal-idle", "1m"), "rows came less than 1 minute ago (1)"),
                (("--seal-idle", "0s", "--seal-grace", "366d"),
                 "the bucket's end is not 366d past (1)")):
            said = self.seal("--due", *options).out.decode()
            self.assertIn("0 buckets sealed", said)
            self.assertIn(told, said)
        self.assertIn(b"1 bucket sealed", self.seal("--due", "--seal-idle", "0s").out)

    def states(self):
        """Of the buckets; none where a file was gone before this reader came to it."""
        done = self.run_tool("buckets", "--store", self.store, "--json", expect=None)
        lines = done.out.splitlines() if done.code == 0 else ()
        return {json.loads(line)["state"] for line in lines}

    def test_a_stream_is_sealed_by_the_rules_that_are_given(self):
        self.create()
        self.fill(days_ago=3)
        self.assertEqual(self.states(), {"open"})
        words = ("ingest", "--store", self.store, "--table", "air", "--seal-grace", "1m",
                 "--seal-idle", "0s", "--seal-age", "1d", "--seal-rows", "10", "--seal-bytes",
                 "1MiB", "--keep-confirmed", "1d", "--keep-unconfirmed", "400d", "--disk-budget",
                 "1GiB", "--disk-shed", "nothing", "--head-age", "1m", "-")
        with subprocess.Popen([BIN, *map(str, words)], stdin=subprocess.PIPE,
                              stderr=subprocess.PIPE, cwd=self.directory) as stream:
            deadline = time.monotonic() + 30
            while self.states() != {"sealed"}:  # by the first look at what is due
                self.assertLess(time.monotonic(), deadline)
            _, told = stream.communicate(b"station,ts\n", timeout=30)
        self.assertEqual(stream.returncode, 0, told)
        self.assertEqual(len(self.scan()), 5)

    def test_a_rule_of_sealing_that_would_do_nothing(self):
        self.create()
        self.write("in.csv", "station,ts\na,1\n")
        ingest = ("ingest", "--store", self.store, "--table", "air", "in.csv")
        sync = ("sync", "--store", self.store, "--contact", "x")
        config = self.write("sync.toml", "seal = false\n")
        for option, value in (("--seal-grace", "1m"), ("--seal-idle", "1m"), ("--seal-age", "1d"),
                              ("--seal-rows", "5"), ("--seal-bytes", "1MiB")):
            for words in (("seal", "--store", self.store, "--all"), ingest,
                          (*sync, "--no-seal"), (*sync, "--config", config)):
                told = self.run_tool(*words, option, value, expect=2).err
                self.assertIn(f"cistern: {option} says ", told)
                self.assertIn("leave", told)

        # A file may have both: its rules tell sync status what is overdue.
        config.write_text("seal = false\nseal_grace = '1m'\n")
        self.run_tool(*sync, "--config", config, "--check")
        self.run_tool("sync", "status", "--store", self.store, "--config", config)
        self.run_tool("sync", "status", "--store", self.store, "--seal-age", "1h", "--head-age",
                      "5m")

    # --- budgets

    def test_a_disk_budget_is_kept(self):
        self.create()
        draw = random.Random(1)
        text = lambda: base64.b85encode(draw.randbytes(800)).decode()  # has no comma and no quote
        lines = "".join(f"a,{i},{text()}\n" for i in range(40_000))
        options = ("--time-unit", "ms", "--memory-budget", "16MiB", "--durability", "log")
        done = self.ingest("station,ts,wd\n" + lines, *options, "--disk-budget", "32MiB", expect=4)
        self.assertIn("raise disk_budget_bytes (cistern --disk-budget)", done.err)
        stored = int(re.search(r"cistern: (\d+) rows stored", done.err).group(1))
        there = len(self.scan("--columns", "ts"))
        self.assertGreater(stored, 1000)
        self.assertIn(there - stored, range(1001), "of the batch that failed nobody knows")
        held = sum(path.stat().st_blocks * 512 for path in self.store.iterdir())
        self.assertLessEqual(held, 33 << 20)
        done = self.ingest("station,ts,wd\n" + lines, *options, "--disk-budget", "1GiB")
        self.assertIn("40000 rows stored", done.err)

    # --- retention

    def test_confirmed_windows_stay_as_long_as_is_said(self):
        self.create(AIR.replace("TABLE air", "TABLE plant.air"))
        self.ingest("station,ts,n\na,1700000000000,1\nb,1700000000000,1\n", table="plant.air")
        self.seal("--all")
        with cluster() as there:
            there.run(KEYSPACE)
            words = ("--store", self.store, "--contact", there.contact)
            self.run_tool("schema", "apply", *words)
            self.run_tool("sync", *words, "--hold", "0s", "--connect-timeout", "60s")

        def windows(*options):
            text = self.run_tool("windows", "--store", self.store, "--json", *options)
            found = [json.loads(line) for line in text.out.splitlines()]
            return [window for window in found if window["kind"] == "window"]

        def expire(*options):
            return self.run_tool("expire", "--store", self.store, *options).out.decode()

        (kept,) = windows()
        self.assertIn("confirmed, kept until", kept["why"])
        (longer,) = windows("--keep-confirmed", "400d")
        self.assertGreater(longer["ends_at"], kept["ends_at"])
        self.assertTrue(expire().startswith("0 windows dropped"))
        self.assertTrue(expire("--keep-confirmed", "400d").startswith("0 windows dropped"))
        self.assertTrue(expire("--keep-confirmed", "0s").startswith("1 window dropped"))
        self.assertEqual(windows(), [])

    # --- what is no value

    def test_values_are_checked_before_anything_is_done(self):
        self.create()
        for command, option, value, told in (
                ("ingest", "--disk-budget", "1MiB", "is less than 32 MiB"),
                ("ingest", "--disk-budget", "all", "is not a whole number of bytes"),
                ("ingest", "--disk-shed", "some", "is not one of nothing, confirmed, oldest"),
                ("ingest", "--head-age", "0s", "is not between 1s and 366d"),
                ("seal", "--seal-grace", "5", "has no unit: 5s, 5m, 5h or 5d"),
                ("seal", "--seal-idle", "367d", "is not between 0s and 366d"),
                ("seal", "--seal-rows", "many", "is not a whole number from 0"),
                ("seal", "--seal-bytes", "-1", "is not a whole number of bytes"),
                ("expire", "--keep-confirmed", "1y", "is not a whole number of seconds"),
                ("windows", "--keep-confirmed", "36501d", "is not between 0s and 36500d")):
            words = {"ingest": ("--table", "air", "-"), "seal": ("--due",)}.get(command, ())
            done = self.run_tool(command, "--store", self.store, *words, option, value, expect=2)
            self.assertIn(f"{option} '{value}' {told}", done.err)


if __name__ == "__main__":
    unittest.main(verbosity=1)
