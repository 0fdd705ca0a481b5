"""Rejected lines: what is kept of them can be mended and read again.

Environment: CISTERN_BIN.
"""

import time
import unittest

from cli_case import CliCase


class Rejects(CliCase):
    def ingest_files(self, *arguments, expect=0):
        return self.run_tool("ingest", "--store", self.store, "--table", "air", *arguments,
                             expect=expect)

    def text(self, name):
        return (self.directory / name).read_text()

    def test_each_header_has_a_file_of_its_own(self):
        self.create()
        one = self.write("one.csv", "station,ts,temp,n\na,1,1.5,x\n")
        two = self.write("two.csv", "station,ts,n,temp\na,2,7,y\n")
        three = self.write("three.csv", "station,ts,temp,n\na,3,z,3")
        four = self.write("four.csv", "station,ts,temp,n\na,4,4.5,w")
        done = self.ingest_files("--reject", "bad.csv", one, two, three, four, expect=1)
        self.assertIn("0 rows stored in air, 4 lines rejected to bad.csv, bad.csv.2", done.err)
        self.assertEqual(self.text("bad.csv"),
                         "station,ts,temp,n\na,1,1.5,x\na,3,z,3\na,4,4.5,w")
        self.assertEqual(self.text("bad.csv.2"), "station,ts,n,temp\na,2,7,y\n")
        # Mended, and read again.
        self.write("bad.csv", self.text("bad.csv").replace("x", "5").replace("z", "3.5")
                   .replace("w", "8"))
        self.write("bad.csv.2", self.text("bad.csv.2").replace("y", "2.5"))
        self.ingest_files("bad.csv", "bad.csv.2")
        self.assertEqual([(row["temp"], row["n"]) for row in self.scan()],
                         [("1.5", "5"), ("2.5", "7"), ("3.5", "3"), ("4.5", "8")])

    def test_files_of_one_name_in_two_folders(self):
        self.create()
        (self.directory / "p").mkdir()
        (self.directory / "q").mkdir()
        one = self.write("p/x.csv", "station,ts,n\na,1,x\n")
        two = self.write("q/x.csv", "n,station,ts\ny,a,2\n")
        done = self.ingest_files(one, two, expect=1)
        self.assertIn("2 lines rejected to x.csv.reject, x.csv.reject.2", done.err)
        self.assertEqual(self.text("x.csv.reject"), "station,ts,n\na,1,x\n")
        self.assertEqual(self.text("x.csv.reject.2"), "n,station,ts\ny,a,2\n")

    def test_lines_of_a_named_header_are_read_again_with_it_and_without(self):
        self.create()
        self.ingest("a,1,x\n", "--header", "station,ts,n", expect=1)
        self.ingest("y,a,2\n", "--header", "n,station,ts", expect=1)
        self.assertEqual(self.text("stdin.reject"), "station,ts,n\na,1,x\n")
        self.assertEqual(self.text("stdin.reject.2"), "n,station,ts\ny,a,2\n")
        self.write("one", self.text("stdin.reject").replace("x", "5"))
        self.write("two", self.text("stdin.reject.2").replace("y", "6"))
        self.ingest_files("--header", "station,ts,n", "one")
        self.ingest_files("two")
        self.assertEqual([row["n"] for row in self.scan()], ["5", "6"])

    def test_a_reject_file_that_takes_nothing(self):
        self.create()
        done = self.ingest("station,ts\na,1\nx\ny\n", "--reject", "/dev/full", expect=4)
        self.assertIn("cannot write rejected lines to /dev/full: No space left", done.err)
        self.assertIn("1 row stored in air, 2 lines rejected and kept nowhere", done.err)

    def test_a_second_reject_file_that_takes_nothing(self):
        self.create()
        one = self.write("one.csv", "station,ts\na,1\nx\n")
        two = self.write("two.csv", "station,ts\na,2\ny\nz\n")
        (self.directory / "two.csv.reject").symlink_to("/dev/full")
        done = self.ingest_files(one, two, expect=4)
        self.assertIn("2 rows stored in air, 3 lines rejected, 1 of them kept in one.csv.reject",
                      done.err)

    def test_the_rest_of_a_broken_document_is_kept(self):
        self.create()
        good = '{"station":"a","ts":1,"n":1}'
        bad = '{"station":"a","ts":2,"n":"x"}'
        one = self.write("one.json", f"[{good} {good}]")  # a comma is missing
        two = self.write("two.json", f"[{bad}]")
        done = self.ingest_files("--format", "json", "--reject", "bad", one, two, expect=1)
        self.assertIn("1 row stored in air, 2 lines rejected to bad", done.err)
        self.assertEqual(self.text("bad"), f"{good}]\n{bad}")

    def test_an_input_is_no_reject_file(self):
        self.create()
        text = "station,ts,n\na,1,x\na,2,2\n"
        path = self.write("in.csv", text)
        done = self.ingest_files("--reject", path, path, expect=1)
        self.assertIn("1 row stored in air, 1 line rejected to", done.err)
        self.assertEqual(self.text("in.csv"), text)
        self.assertEqual(self.text("in.csv.2"), "station,ts,n\na,1,x\n")

    def test_rejects_of_a_stream_are_there_while_it_goes_on(self):
        with self.holder_of_store() as holder:
            holder.stdin.write(b"b,x\n")
            holder.stdin.flush()
            holder.stderr.readline()
            holder.stdin.write(b"a,2\n")
            holder.stdin.flush()
            deadline = time.monotonic() + 30
            while len(self.scan()) < 2:
                self.assertLess(time.monotonic(), deadline)
            self.assertEqual(self.text("stdin.reject"), "station,ts\nb,x\n")
            holder.stdin.close()
            self.assertEqual(holder.wait(), 1)


if __name__ == "__main__":
    unittest.main()
