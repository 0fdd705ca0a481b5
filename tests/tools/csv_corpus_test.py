#!/usr/bin/env python3
"""Csv files as the tools of the field write them, each through the tool and back.

csv_corpus/manifest.toml names each file with the options that read it and the rows that it is.

Environment: CISTERN_BIN.
"""

import csv
import io
import re
import sys
import tomllib
import unittest
from pathlib import Path

from cli_case import CliCase

CORPUS = Path(__file__).resolve().parent / "csv_corpus"
COLUMNS = ("station", "ts", "temp", "hum", "n", "note", "ok")
SHAPES = {
    "readings": """CREATE TABLE {} (
        station text, day date, ts timestamp, temp double, hum double, n int, note text, ok boolean,
        PRIMARY KEY ((station, day), ts));""",
    "fine": """CREATE TABLE {} (
        station text, day date, ts bigint, temp double, hum double, n int, note text, ok boolean,
        PRIMARY KEY ((station, day), ts)) WITH comment = 'cistern: time ts = ns';""",
}


def cases():
    with open(CORPUS / "manifest.toml", "rb") as file:
        return tomllib.load(file)["case"]


def table_of(case):
    return re.sub(r"\W", "_", case["file"])


class CorpusTest(CliCase):
    def rows_of(self, case):
        """The rows of the table of `case`, without what is null and the bucket."""
        text = self.run_tool("scan", "--store", self.store, "--table", table_of(case),
                             "--all-entities", "--format", "csv").out.decode()
        rows = csv.DictReader(io.StringIO(text, newline=""))
        return [{name: row[name] for name in COLUMNS if row[name]} for row in rows]

    def expected_of(self, case):
        rows = [dict(row, station="gw-1") for row in case["rows"]]
        if case.get("shape") == "fine":
            rows = [dict(row, ts=str(nanos_of(row["ts"]))) for row in rows]
        return rows

    def test_every_file_is_the_rows_of_the_manifest(self):
        self.create("".join(SHAPES[case.get("shape", "readings")].format(table_of(case)) + "\n"
                            for case in cases()))
        for case in cases():
            with self.subTest(case["file"], tool=case["tool"]):
                rejected = case.get("rejected", 0)
                done = self.run_tool("ingest", "--store", self.store, "--table", table_of(case),
                                     *case.get("options", ()), CORPUS / case["file"],
                                     expect=1 if rejected else 0)
                self.assertEqual(self.rows_of(case), self.expected_of(case), done.err)
                told = re.search(r"(\d+) lines? rejected", done.err)
                self.assertEqual(int(told[1]) if told else 0, rejected, done.err)

    # What was rejected reads the same once more: the header, the encoding and what stands before
    # the header are those of the input.
    def test_rejected_lines_are_read_again_by_the_same_options(self):
        lines = 0
        for index, case in enumerate(cases()):
            if not case.get("rejected") or "--time-start" in case.get("options", ()):
                continue
            with self.subTest(case["file"], tool=case["tool"]):
                self.store = self.directory / f"again-{index}"
                self.create(SHAPES[case.get("shape", "readings")].format(table_of(case)))
                ingest = ("ingest", "--store", self.store, "--table", table_of(case),
                          *case.get("options", ()))
                self.run_tool(*ingest, CORPUS / case["file"], expect=1)
                kept = self.directory / (case["file"] + ".reject")
                self.run_tool(*ingest, "--reject", "second", kept, expect=1)
                second = self.directory / "second"
                self.assertEqual(second.read_bytes(), kept.read_bytes())
                second.unlink()
                lines += case["rejected"]
        self.assertGreater(lines, 4)

    def test_the_corpus_is_whole(self):
        files = {path.name for path in CORPUS.iterdir()} - {"manifest.toml"}
        named = [case["file"] for case in cases()]
        self.assertEqual(files, set(named))
        self.assertEqual(len(named), len(files))
        self.assertGreaterEqual(len(named), 60)
        self.assertGreaterEqual(len({case["tool"] for case in cases()}), 10)


def nanos_of(text):
    """Nanoseconds since 1970 of 2024-05-24T07:03:50.123456789Z, a day of the manifest."""
    day, clock = text.rstrip("Z").split("T")
    hours, minutes, seconds = clock.split(":")
    whole, fraction = seconds.split(".")
    if day != "2024-05-24":
        raise ValueError(text)
    second_of_day = int(hours) * 3600 + int(minutes) * 60 + int(whole)
    return (1716508800 + second_of_day) * 10**9 + int(fraction)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
