"""cistern backup, backup list, backup verify and restore, as a shell runs them.

Environment: CISTERN_BIN.
"""

import csv
import io
import json
import re
import shutil
import subprocess
import unittest

from cli_case import BIN, CliCase, Done


class BackupTest(CliCase):
    def setUp(self):
        super().setUp()
        self.backups = self.directory / "backups"

    def fill(self):
        self.create()
        self.ingest("station,ts,temp\na,2024-05-24T00:00:00Z,1\na,2024-05-24T00:00:01Z,2\n")
        self.run_tool("seal", "--store", self.store, "--all")
        self.ingest("station,ts,temp\na,2024-05-25T00:00:00Z,3\n")

    def backup(self, *options, expect=0):
        return self.run_tool("backup", "--store", self.store, "--to", self.backups, *options,
                             expect=expect)

    def restore(self, to, *options, expect=0):
        return self.run_tool("restore", "--from", self.backups, "--to", to, *options,
                             expect=expect)

    def list(self, *options, expect=0):
        text = self.run_tool("backup", "list", "--from", self.backups, "--format", "csv",
                             *options, expect=expect).out.decode()
        return list(csv.DictReader(io.StringIO(text)))

    def verify_whatever(self):
        return Done(subprocess.run([BIN, "verify", "--store", self.store], capture_output=True,
                                   check=False, timeout=120))

    def test_a_store_is_backed_up_and_restored(self):
        self.fill()
        first = self.backup()
        self.assertRegex(first.out.decode(), r"^backup 1: (\d+) files, .* copied \1, ")
        rows = self.scan()
        self.assertEqual(len(rows), 3)
        self.ingest("station,ts,temp\na,2024-05-26T00:00:00Z,4\n")
        self.assertRegex(self.backup().out.decode(), r"^backup 2: .* copied \d+, ")
        self.assertEqual([(b["backup"], b["problems"]) for b in self.list()],
                         [("1", "0"), ("2", "0")])
        told = self.run_tool("backup", "verify", "--from", self.backups).out.decode()
        self.assertRegex(told, r"^backup 2: \d+ files, .* checked, 0 problems$")
        shutil.rmtree(self.store)
        self.assertRegex(self.restore(self.store, "--number", 1).out.decode(),
                         r"store is the store [0-9a-f]{32} as of 20\d\d-.*: backup 1, \d+ files, ")
        self.assertEqual(self.scan(), rows)
        self.run_tool("verify", "--store", self.store)
        # It goes on where it was, also with its backups.
        self.ingest("station,ts,temp\na,2024-05-27T00:00:00Z,5\n")
        self.backup("--keep", 1)
        self.assertEqual([b["backup"] for b in self.list()], ["3"])

    def test_a_copy_is_another_store(self):
        self.fill()
        self.backup()
        copy = self.directory / "copy"
        self.restore(copy, "--new-identity")
        self.store = copy
        self.assertEqual(len(self.scan()), 3)
        self.assertIn("backups of another store", self.backup(expect=2).err)

    def test_what_is_damaged_is_named(self):
        self.fill()
        self.backup()
        damaged = max((self.backups / "shared").iterdir(), key=lambda file: file.stat().st_size)
        whole = damaged.read_bytes()
        damaged.write_bytes(whole[:50] + bytes([whole[50] ^ 1]) + whole[51:])
        told = self.run_tool("backup", "verify", "--from", self.backups, expect=1)
        self.assertIn(damaged.name, told.err)
        self.assertIn("1 problem", told.out.decode())
        told = self.restore(self.directory / "new", expect=3).err
        self.assertIn(damaged.name, told)
        advice = re.search(r"what is left of this one by damaged_too \(cistern restore (--\S+)\)",
                           told)
        self.assertIsNotNone(advice, told)
        self.assertIn(damaged.name, self.restore(self.directory / "left", advice.group(1),
                                                 expect=6).err)
        # One whose list of files is damaged is told, and the others are listed.
        self.backup()
        contents = self.backups / "1" / "CONTENTS"
        contents.write_bytes(contents.read_bytes().replace(b"number 1", b"number 9"))
        listed = self.run_tool("backup", "list", "--from", self.backups, "--json",
                               expect=1)
        self.assertIn("backup 1: ", listed.err)
        lines = [json.loads(line) for line in listed.out.decode().splitlines()]
        self.assertEqual([line["backup"] for line in lines], [1, 2])
        self.assertIsNone(lines[0]["files"])

    def test_a_damaged_store_is_backed_up_with_code_6(self):
        self.fill()
        # Which files are of segments the tool tells: without one of the catalog nothing opens.
        for table in self.store.glob("*.sst"):
            held = table.read_bytes()
            table.unlink()
            if b" problem" in self.verify_whatever().out:
                break
            table.write_bytes(held)
        else:
            self.fail("no file of segments")
        told = self.backup(expect=6)
        self.assertIn(f"{table.name}: it is missing; it is not in the backup", told.err)
        self.assertEqual([b["problems"] for b in self.list()], ["1"])

    def test_nothing_is_overwritten(self):
        self.fill()
        told = self.restore(self.directory / "new", expect=3).err
        self.assertIn("no backups", told)
        self.assertIn("; check the path, and whether its file system is mounted\n", told)
        self.assertIn("no backups", self.run_tool("backup", "list", "--from", self.backups,
                                                  expect=3).err)
        self.backup()
        self.assertIn("which nothing overwrites", self.restore(self.store, expect=2).err)
        self.assertIn("`cistern backup list` (ListBackups in the library) shows those that are",
                      self.restore(self.directory / "new", "--number", 7, expect=3).err)
        told = self.run_tool("restore", "--from", self.store, "--to", self.directory / "new",
                             expect=3).err
        self.assertIn(f"{self.store} is a store, not a directory of backups", told)
        told = self.run_tool("verify", "--store", self.backups, expect=3).err
        self.assertIn(f"these are backups: cistern restore --from {self.backups} --to NEW", told)
        self.assertIn("no backup 7", self.restore(self.directory / "new", "--number", 7,
                                                  expect=3).err)
        self.assertIn("in the store", self.run_tool("backup", "--store", self.store, "--to",
                                                    self.store / "in", expect=2).err)
        self.assertEqual(len(self.scan()), 3)

    def test_the_store_is_in_use(self):
        with self.holder_of_store():
            self.assertIn("is open in process", self.backup(expect=3).err)

    def test_options_belong_to_their_command(self):
        self.assertIn("--to is required", self.run_tool("backup", "--store", "S", expect=2).err)
        told = self.run_tool("backup", "--store", "S", "list", "--from", "B", expect=2).err
        self.assertIn("belongs behind the subcommand: cistern backup list --store", told)
        self.assertIn("--keep", self.run_tool("backup", "--store", "S", "--to", "B", "--keep", "0",
                                              expect=2).err)
        self.assertIn("cistern backup verify", self.run_tool("help", "backup").out.decode())
        self.assertIn("--number", self.run_tool("help", "backup", "verify").out.decode())


if __name__ == "__main__":
    unittest.main()
