"""--json: one option for JSON on every subcommand, and scan --follow, whose readers are programs.

Environment: CISTERN_BIN.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import unittest

from cli_case import AIR, BIN, CliCase


class JsonTest(CliCase):
    def subcommands(self, *path):
        """The paths of all subcommands that do something, as --help has them."""
        text = self.run_tool(*path, "--help").out.decode()
        listed = text.partition("Subcommands:\n")[2].partition("\n\n")[0]
        names = re.findall(r"^  ([a-z]+) ", listed, re.MULTILINE)
        found = [] if not path or path == ("schema",) else [path]
        return found + [one for name in names for one in self.subcommands(*path, name)]

    def objects(self, *words, expect=0, **kwargs):
        text = self.run_tool(*words, "--json", expect=expect, **kwargs).out.decode()
        self.assertTrue(text.endswith("\n"), (words, text))
        return [json.loads(line) for line in text.splitlines()]

    def test_every_subcommand_has_it(self):
        paths = self.subcommands()
        self.assertGreater(len(paths), 25, paths)
        for path in paths:
            text = self.run_tool(*path, "--help").out.decode()
            self.assertRegex(text, r"(?m)^  --json ", path)

    def test_there_is_no_other_way_to_it(self):
        self.create()
        for words in (("tables",), ("stats",), ("scan", "--table", "air", "--entity", "a")):
            done = self.run_tool(words[0], "--store", self.store, *words[1:], "--format", "jsonl",
                                 expect=2)
            self.assertIn("--json prints JSON", done.err)
            done = self.run_tool(words[0], "--store", self.store, *words[1:], "--format", "csv",
                                 "--json", expect=2)
            self.assertRegex(done.err, "--json excludes --format|--format excludes --json")
        done = self.run_tool("tables", "--store", self.store, "--cql", "--json", expect=2)
        self.assertIn("whatever --json says", done.err)

    def test_what_is_done_is_an_object(self):
        store = ("--store", self.store)
        create = ("create", *store, "--schema", self.write("air.cql", AIR))
        there = {"table": "air", "store": str(self.store), "bucket_column": "day"}
        self.assertEqual(self.objects(*create), [{**there, "there_already": False}])
        self.assertEqual(self.objects(*create), [{**there, "there_already": True}])
        ingest = ("ingest", *store, "--table", "air", "-")
        [one] = self.objects(*ingest, stdin=b"station,ts,n\na,1,1\na,1,2\na,x,3\n", expect=1)
        self.assertEqual(one, {"table": "air", "rows": 2, "replaced": 1, "not_compared": 0,
                               "rejected": 1, "rejected_kept": 1, "reject_files": ["stdin.reject"],
                               "left_out": 0, "interrupted": False})
        [one] = self.objects("delete", *store, "--table", "air", "--entity", "a", "--at", "7")
        self.assertEqual((one["table"], one["met_rows"]), ("air", False))
        [one] = self.objects("seal", *store, "--due")
        self.assertEqual(one["buckets"], 0)
        self.assertIn("1 open bucket is not due", one["left"])
        [one] = self.objects("seal", *store, "--all")
        self.assertEqual((one["buckets"], one["left"]), (1, None))
        [one] = self.objects("expire", *store)
        self.assertEqual((one["windows"], one["ended"], len(one["left"])), (0, [], 1))
        [one] = self.objects("verify", *store)
        self.assertEqual((one["buckets"], one["problems"]), (1, 0))
        without = self.write("less.cql", AIR.replace(", wd text", ""))
        [one] = self.objects("alter", *store, "--table", "air", "--schema", without)
        self.assertEqual(one["changes"], "dropped wd")
        [one] = self.objects("schema", "print", *store)
        self.assertIn("CREATE TABLE IF NOT EXISTS air", one["cql"])
        [one] = self.objects("sync", "retry", *store)
        self.assertEqual(one, {"seals_again": 0, "seals_waiting": 1})

    def test_names_of_files_that_are_no_utf_8(self):
        self.store = self.directory / os.fsdecode(b"s\xfct")
        [one] = self.objects("create", "--store", self.store, "--schema",
                             self.write("air.cql", AIR))
        self.assertEqual(one["store"], f"{self.directory}/s\ufffdt")
        [one] = self.objects("verify", "--store", self.store)
        self.assertEqual(one["store"], f"{self.directory}/s\ufffdt")

    def test_copies_of_a_store_are_objects(self):
        self.create()
        self.ingest("station,ts,n\na,1,1\n")
        backups = self.directory / "backups"
        [one] = self.objects("backup", "--store", self.store, "--to", backups)
        self.assertEqual((one["backup"], one["removed"], one["problems"]), (1, [], 0))
        [listed] = self.objects("backup", "list", "--from", backups)
        self.assertEqual((listed["backup"], listed["files"]), (1, one["files"]))
        [one] = self.objects("backup", "verify", "--from", backups)
        self.assertEqual((one["backup"], one["problems"]), (1, 0))
        [one] = self.objects("restore", "--from", backups, "--to", self.directory / "again")
        self.assertEqual((one["backup"], one["store"]), (1, listed["store"]))
        [one] = self.objects("salvage", "--store", self.store, "--to", self.directory / "saved")
        self.assertEqual((one["table"], one["versions_saved"], one["versions_lost"],
                          one["versions_lost_known"]), ("air", 1, 0, True))

    def test_what_is_found_is_an_object_each(self):
        self.create()
        self.ingest("station,ts,n\na,1,1\nb,2,2\n")
        for command, count in (("tables", 1), ("buckets", 2), ("histograms", 1), ("stats", 1)):
            found = self.objects(command, "--store", self.store)
            self.assertEqual(len(found), count, command)
        clock = self.run_tool("clock", "--store", self.store, "--json", expect=None)
        self.assertIn("believed", json.loads(clock.out))
        self.run_tool("seal", "--store", self.store, "--all")
        [window] = self.objects("windows", "--store", self.store)
        self.assertEqual(window["buckets"], 2)
        self.assertEqual(self.objects("entities", "--store", self.store, "--table", "air"),
                         [{"station": "a"}, {"station": "b"}])
        [one] = self.objects("aggregate", "--store", self.store, "--table", "air", "--entity", "b",
                             "--step", "1d", "--of", "n:sum")
        self.assertEqual(one["n_sum"], 2)
        [one] = self.objects("sync", "status", "--store", self.store)
        self.assertEqual(one["seals_waiting"], 2)

    # --- scan --follow

    @contextlib.contextmanager
    def following(self, *options):
        words = ["scan", "--store", self.store, "--table", "air", "--entity", "a", "--follow",
                 *options]
        with subprocess.Popen([BIN, *map(str, words)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, cwd=self.directory) as process:
            try:
                yield process
            finally:
                process.kill()

    def test_rows_are_followed_beside_who_writes_them(self):
        self.create()
        self.ingest("station,ts,n\na,1,1\na,2,2\nb,3,3\n")
        with self.following("--json", "--columns", "ts,n") as process:
            for number in (1, 2):
                self.assertEqual(json.loads(process.stdout.readline())["n"], number)
            self.ingest("station,ts,n\na,3,3\na,86400000,4\nb,9,9\n")
            for number in (3, 4):
                self.assertEqual(json.loads(process.stdout.readline())["n"], number)
            self.run_tool("seal", "--store", self.store, "--all")
            self.ingest("station,ts,n\na,5,0\na,86400001,5\n")  # one is late, and not given
            self.assertEqual(json.loads(process.stdout.readline())["n"], 5)
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out), (0, b""))
        # A store that is away for a moment may have been told before.
        self.assertRegex(err.decode(), r"(^|\n)cistern: continue with --token \S+\n$")
        self.ingest("station,ts,n\na,86400002,6\n")
        rest = self.scan_text("--columns", "ts,n", "--token", err.split()[-1].decode())
        self.assertEqual(rest.splitlines()[1:], ["1970-01-02T00:00:00.002Z,6"])

    def test_a_followed_scan_ends_at_its_limit(self):
        self.create()
        self.ingest("station,ts,n\na,1,1\n")
        with self.following("--limit", "2", "--where", "n > 0", "--format", "csv") as process:
            self.assertTrue(process.stdout.readline().startswith(b"station,"))
            process.stdout.readline()
            self.ingest("station,ts,n\na,2,-1\na,3,3\na,4,4\n")
            out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out.decode().strip().split(",")[-1]), (0, "3"), err)

    def test_a_followed_scan_ends_with_its_reader(self):
        self.create()
        self.ingest("station,ts,n\na,1,1\n")
        with self.following("--json") as process:
            process.stdout.readline()
            process.stdout.close()  # and no row comes by which it would notice
            self.assertEqual(process.wait(timeout=60), 0)
            self.assertIn(b"continue with --token ", process.stderr.read())

    def test_damage_is_told_once_however_often_it_is_met(self):
        self.create()
        self.ingest("station,ts,n\n" + "".join(f"a,{i},{i}\n" for i in range(2000)))
        self.run_tool("seal", "--store", self.store, "--all")
        window = next(p for p in self.store.glob("*.sst") if b"window-" in p.read_bytes())
        whole = window.read_bytes()
        window.write_bytes(whole[:200] + bytes([whole[200] ^ 1]) + whole[201:])
        with self.following("--json", "--columns", "n") as process:
            told = [process.stderr.readline()]  # by the first look
            self.ingest("station,ts,n\na,86400000,7\n")
            # Without a token as yet, the look that finds the row passes the damage again.
            self.assertEqual(json.loads(process.stdout.readline()), {"n": 7})
            process.send_signal(signal.SIGTERM)
            told += process.communicate(timeout=60)[1].splitlines(keepends=True)
        self.assertEqual(process.returncode, 6)
        gaps = [line for line in told if b"nothing was printed from" in line]
        self.assertEqual(len(gaps), 1, told)

    def test_what_cannot_be_followed_says_so(self):
        self.create()
        scan = ("scan", "--store", self.store, "--table", "air", "--follow")
        for options in (("--all-entities",), ("--entity", "a", "--desc"),
                        ("--entity", "a", "--to", "now"),
                        ("--entity", "a", "--bucket", "1970-01-01")):
            self.assertIn("leave out --all-entities, --desc, --to and --bucket",
                          self.run_tool(*scan, *options, expect=2).err)


if __name__ == "__main__":
    unittest.main()
