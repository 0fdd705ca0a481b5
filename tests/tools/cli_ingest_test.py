#!/usr/bin/env python3
"""cistern ingest of what people have: options of csv and json, times that no cell alone is, and
the advice that messages give, followed.

Environment: CISTERN_BIN.
"""

import csv
import io
import json
import random
import re
import time
import unittest

from cli_case import CliCase

AIR = """CREATE TABLE air (
    station text, day date, ts timestamp, temp double, wd text, n int, tags frozen<list<int>>,
    PRIMARY KEY ((station, day), ts)
);
"""
START = "2024-05-24T07:03:50Z"
MILLIS = 1716534230000


class IngestTest(CliCase):
    def setUp(self):
        super().setUp()
        self.create(AIR)

    def values(self, *columns, entity="a"):
        return [tuple(row[name] for name in columns) for row in self.scan(entity=entity)]

    def kept(self):
        """The reject file, which is taken away."""
        path = self.directory / "stdin.reject"
        data = path.read_bytes()
        path.unlink()
        return data

    # A message names an option; with it the same input is taken.
    def test_advice_is_true(self):
        quoted = f'station,ts,wd\na,{MILLIS},"say \\"hi\\""\n'
        bare = f'station,ts,wd\na,{MILLIS},say \\"hi\\"\n'
        comma = f"station;ts;temp\na;{MILLIS};2,5\n"
        trailing = f"station,ts,temp\na,{MILLIS},3.5,\n"
        latin = f"station,ts,wd\na,{MILLIS},gr\xfcn\n".encode("latin-1")
        windows = f"station,ts,wd\na,{MILLIS},5€\n".encode("cp1252")
        for text, before, advice, after, column, value in (
                (quoted, (), "--escape '\\'", ("--escape", "\\"), "wd", 'say "hi"'),
                (bare, (), "--escape cqlsh", ("--escape", "cqlsh"), "wd", 'say "hi"'),
                (comma, ("--delimiter", ";"), "--decimal ,", ("--decimal", ","), "temp", "2.5"),
                (trailing, (), "--trailing-delimiter", ("--trailing-delimiter",), "temp", "3.5"),
                (latin, (), "--encoding latin-1", ("--encoding", "latin-1"), "wd", "grün"),
                (windows, (), "or windows-1252", ("--encoding", "windows-1252"), "wd", "5€")):
            self.assertIn(advice, self.ingest(text, *before, expect=1).err)
            self.ingest(text, *before, *after)
            self.assertEqual(self.values(column), [(value,)])

    def test_another_delimiter_beside_decimal_commas(self):
        text = f'station,ts,temp\na,{MILLIS},"2,5"\n'
        done = self.ingest(text, "--decimal", ",", expect=2)
        self.assertIn("are its cells apart by --delimiter ','?", done.err)
        self.ingest(text, "--decimal", ",", "--delimiter", ",")
        self.assertEqual(self.values("temp"), [("2.5",)])

    # Against Python's writer, which cqlsh and pandas use. Before 3.10 it left backslashes alone.
    def test_what_a_writer_escapes_comes_back(self):
        random_texts = random.Random(7)
        letters = "\\\\\",\n\r\tnrtx41a \x1b\xa0é"
        texts = ["".join(random_texts.choices(letters, k=12)) for _ in range(400)]

        def shown(text):
            doubled = text.replace("\\", "\\\\")
            return re.sub(r"[\x01-\x1f\x7f-\xa0]", lambda c: repr(c[0])[1:-1], doubled)

        def written(values, **dialect):
            out = io.StringIO(newline="")
            csv.writer(out, **dialect).writerows(
                ["a", MILLIS + i, value] for i, value in enumerate(values))
            return out.getvalue()

        escaped = {"escapechar": "\\", "doublequote": False}
        before_310 = "".join(f"a,{MILLIS + i},{shown(text)}\n".replace('"', '\\"')
                             for i, text in enumerate(t.replace(",", ";") for t in texts))
        for data, options, expected in (
                (written(texts, **escaped), ("--escape", "\\"), texts),
                (written(texts), (), texts),
                (written(map(shown, texts), **escaped), ("--escape", "cqlsh-python3.10"), texts),
                (before_310, ("--escape", "cqlsh"), [t.replace(",", ";") for t in texts])):
            self.ingest(data, "--header", "station,ts,wd", *options)
            self.assertEqual(self.values("wd"), [(text,) for text in expected], options)

    def test_a_header_without_a_name_is_told_how(self):
        text = f",station,ts\n7,a,{MILLIS}\n"
        self.assertIn("--map '#1=COLUMN', or leave it out with --ignore '#1'",
                      self.ingest(text, expect=2).err)
        self.ingest(text, "--ignore", "#1")
        self.ingest(text, "--map", "#1=n")
        self.assertEqual(self.values("n"), [("7",)])

    def test_what_stands_before_the_header_stands_in_the_reject_file(self):
        text = f"made by x\n\nstation,ts,n\na,{MILLIS},1\na,{MILLIS + 1},x\n"
        self.ingest(text, "--skip-lines", "2", expect=1)
        kept = self.kept()
        self.assertEqual(kept, f"made by x\n\nstation,ts,n\na,{MILLIS + 1},x\n".encode())
        self.ingest(kept.replace(b",x\n", b",2\n"), "--skip-lines", "2")
        self.assertEqual(self.values("n"), [("1",), ("2",)])

    def test_the_same_with_names_from_an_option(self):
        text = f"sep=;\n1;2;3\na;{MILLIS};x\n"
        options = ("--header", "station,ts,n", "--skip-lines", "2")
        self.ingest(text, *options, expect=1)
        kept = self.kept()
        named = f"sep=;\n1;2;3\nstation;ts;n\na;{MILLIS};x\n"
        self.assertEqual(kept, named.encode(), "the names have the delimiter of the file")
        mended = kept.replace(b";x\n", b";2\n")
        self.ingest(mended, *options)
        self.ingest(mended.replace(b";2\n", b";3\n"), "--skip-lines", "2")
        self.assertEqual(self.values("n"), [("3",)])

    def test_rejected_lines_keep_their_encoding(self):
        text = f"station,ts,wd,n\na,{MILLIS},grün,1\na,{MILLIS + 1},weiß,x\n"
        self.ingest(text.encode("latin-1"), "--encoding", "latin-1", expect=1)
        kept = self.kept()
        self.assertTrue(kept.endswith(b"wei\xdf,x\n"))
        self.ingest(kept.replace(b",x\n", b",2\n"), "--encoding", "latin-1")
        self.assertEqual(self.values("wd", "n"), [("grün", "1"), ("weiß", "2")])
        utf16 = f"station,ts,wd,n\nb,{MILLIS},grün,x\n".encode("utf-16")
        self.ingest(utf16, expect=1)
        self.ingest(self.kept().replace(b",x\n", b",3\n"))
        self.assertEqual(self.values("wd", "n", entity="b"), [("grün", "3")])

    def test_a_mark_against_the_encoding_is_refused(self):
        for codec in ("utf-8-sig", "utf-16"):
            done = self.ingest(f"station,ts\na,{MILLIS}\n".encode(codec), "--encoding", "latin-1",
                               expect=2)
            self.assertIn("leave --encoding out", done.err)

    def test_every_format_knows_utf16(self):
        def encoded(text):
            return text.encode("utf-16")
        self.ingest(encoded(f'{{"station":"a","ts":{MILLIS},"wd":"ü"}}\n'), "--format", "jsonl")
        self.ingest(encoded(f'[{{"station":"b","ts":{MILLIS},"wd":"ü"}}]'), "--format", "json")
        self.ingest(encoded(f'm,station=c wd="ü" {MILLIS}000000\n'), "--format", "line")
        for entity in "abc":
            self.assertEqual(self.values("wd", entity=entity), [("ü",)])

    def test_a_separator_of_the_file_and_another_of_the_option(self):
        text = f"sep=;\nstation;ts\na;{MILLIS}\n"
        self.assertIn("the input says sep=;", self.ingest(text, "--delimiter", ",", expect=2).err)
        self.ingest(text)
        self.ingest(text, "--delimiter", ";")
        self.ingest(text, "--delimiter", ";", "--skip-lines", "1")
        self.assertEqual(len(self.scan()), 1)

    def test_options_that_say_nothing_are_refused(self):
        for options, told in (
                (("--encoding", "ebcdic"), "utf-8, latin-1, windows-1252"),
                (("--decimal", ";"), "neither ',' nor '.'"),
                (("--escape", '"'), "leave it out"), (("--escape", ","), "beside the delimiter"),
                (("--non-finite", "zero"), "store, missing, refuse"),
                (("--format", "jsonl", "--skip-lines", "1"), "is of --format csv"),
                (("--format", "json", "--comment", "#"), "is of --format csv"),
                (("--format", "line", "--decimal", ","), "is of --format csv"),
                (("--format", "xml"), "csv, jsonl, json, line"),
                (("--time-start", START), "go together"), (("--time-step", "1s"), "go together"),
                (("--time-start", START, "--time-step", "1"), "--time-step '1'"),
                (("--time-start", "soon", "--time-step", "1s"), "--time-start 'soon'"),
                (("--time-start", START, "--time-step", "1s", "--time-base", START),
                 "leave one out"),
                (("--time-start", START, "--time-step", "1s", "--time-sum", "n"), "two options"),
                (("--time-start", START, "--time-step", "1s", "--arrival-time"),
                 "--time-start gives one to all"),
                (("--time-sum", "n", "--arrival-time"), "--time-sum gives one to all"),
                (("--time-sum", "n*n"), "a term has one cell"),
                (("--time-sum", "n", "--set", f"ts={START}"), "two options")):
            self.assertIn(told, self.ingest("station,n\na,1\n", *options, expect=2).err, options)
        self.assertEqual(self.scan(), [])

    def test_a_time_of_several_cells(self):
        text = "station,hour,minute,second,micro\na,7,3,50,1.5004e+05\na,7,3,50,1.50041e+05\n"
        total = "hour*3600 + minute*60 + second + micro/1e6"
        options = ("--time-sum", total, "--time-base", "2024-05-24")
        done = self.ingest(text, *options, expect=1)
        self.assertIn("finer than a millisecond, the unit of its column; nothing is rounded; "
                      "--truncate-times cuts", done.err)
        self.assertEqual(self.values("ts"), [])
        self.ingest(text, *options, "--truncate-times")
        self.assertEqual(self.values("ts"), [("2024-05-24T07:03:50.150Z",)])
        done = self.ingest(text, *options[:2], "--truncate-times", expect=1)
        self.assertIn("--time-base says from when it counts", done.err)

    def test_a_time_by_the_number_of_the_record(self):
        options = ("--time-start", START, "--time-step", "250ms")
        done = self.ingest("station,n\n\na,1\na,x\na,\"\n\n\na,3\n", *options, expect=1)
        self.assertIn("mend them in the input itself", done.err)
        self.assertEqual(self.values("ts", "n"), [("2024-05-24T07:03:50.000Z", "1"),
                                                  ("2024-05-24T07:03:50.750Z", "3")])
        self.ingest("station,n\nd,1\nd,2\n", *options, "--header", "station,n")
        self.assertEqual(self.values("ts", entity="d"), [
            ("2024-05-24T07:03:50.000Z",), ("2024-05-24T07:03:50.250Z",)], "a header is no record")
        for name in ("b", "c"):
            self.write(f"{name}.csv", "n\n1\n2\n")
        ingest = ("ingest", "--store", self.store, "--table", "air", *options, "b.csv", "c.csv")
        done = self.run_tool(*ingest, "--set", "station=a", expect=2)
        self.assertIn("--time-start is of one file", done.err)
        self.run_tool(*ingest, "--set", "station={stem}")
        for entity in "bc":
            self.assertEqual(self.values("ts", "n", entity=entity),
                             [("2024-05-24T07:03:50.000Z", "1"), ("2024-05-24T07:03:50.250Z", "2")])

    def test_json_documents(self):
        rows = [{"id": {"station": "a"}, "ts": MILLIS + i, "temp": temp, "n": n,
                 "samples": [{"v": 5 + i}, {"v": 7 + i}], "tags": [1, 2]}
                for i, (temp, n) in enumerate(((1.5, 8.0), (float("nan"), None)))]
        options = ("--map", "id.station=station", "--ignore", "samples,id")
        self.ingest(json.dumps(rows, indent=2), "--format", "json", *options)
        expected = [("1.5", "8", "[1, 2]"), ("NaN", "", "[1, 2]")]
        self.assertEqual(self.values("temp", "n", "tags"), expected)
        lines = "".join(json.dumps(dict(row, id={"station": "b"})) + "\n" for row in rows)
        self.ingest(lines, "--format", "jsonl", *options)
        self.assertEqual(self.values("temp", "n", "tags", entity="b"), expected)
        by_place = json.dumps([dict(row, id={"station": "c"}, n=1, wd="x") for row in rows])
        self.ingest(by_place, "--format", "json", *options[:2], "--map", "samples.1.v=n",
                    "--ignore", "n,samples,id", "--non-finite", "missing")
        self.assertEqual(self.values("temp", "n", entity="c"), [("1.5", "7"), ("", "8")])

    def test_json_is_told_which_format_reads_it(self):
        text = f'[{{"station":"a","ts":{MILLIS}}}]\n'
        self.assertIn("--format json reads", self.ingest(text, "--format", "jsonl", expect=1).err)
        self.ingest(text, "--format", "json")
        self.assertEqual(len(self.scan()), 1)

    def test_a_document_that_ends_too_early_is_told(self):
        text = f'[{{"station":"a","ts":{MILLIS}}},\n{{"station":"a","ts":'
        done = self.ingest(text, "--format", "json", expect=1)
        self.assertIn("standard input:2: the input ends inside an object", done.err)
        self.assertEqual(len(self.scan()), 1)

    def test_not_finite_numbers(self):
        text = f'station,ts,temp\na,{MILLIS},NaN\na,{MILLIS + 1},"-INF"\na,{MILLIS + 2},1\n'
        self.ingest(text)
        self.assertEqual(self.values("temp"), [("NaN",), ("-Infinity",), ("1",)])
        done = self.ingest(text.replace("a,", "b,"), "--non-finite", "refuse", expect=1)
        self.assertIn("'NaN' is not finite", done.err)
        self.assertEqual(self.values("temp", entity="b"), [("1",)])
        self.ingest(text.replace("a,", "c,"), "--non-finite", "missing")
        self.assertEqual(self.values("temp", entity="c"), [("",), ("",), ("1",)])

    def test_a_cell_has_the_time_to_live_of_its_row(self):
        text = "station,ts,n,life\na,1,1,1\na,2,2,\na,3,3,0\na,4,4,soon\n"
        self.assertIn("--ttl-from: the cell 'life' has 'soon', which is no time to live",
                      self.ingest(text, "--ttl-from", "life", expect=1).err)
        time.sleep(2.1)
        self.assertEqual([row["n"] for row in self.scan()], ["2", "3"])
        self.ingest("station,ts,n,life\nb,1,1,\nb,2,2,1000\n", "--ttl-from", "life", "--ttl", "1")
        time.sleep(2.1)
        self.assertEqual([row["n"] for row in self.scan(entity="b")], ["2"])
        self.ingest('{"station":"c","ts":1,"n":1,"meta":{"ttl":1}}\n', "--format", "jsonl",
                    "--ttl-from", "meta.ttl")
        time.sleep(2.1)
        self.assertEqual(self.scan(entity="c"), [])


TYPED = """CREATE TYPE spot (x double, "Note" text);
CREATE TABLE typed (
    station text, day date, ts timestamp, m map<text, text>, s set<text>, p tuple<int, text>,
    d duration, v vector<float, 2>, u frozen<spot>, deep map<text, frozen<set<frozen<spot>>>>,
    PRIMARY KEY ((station, day), ts)
);
"""


class TypedIngestTest(CliCase):
    """Values that are made of others, as cqlsh writes them and as JSON does."""

    EXPECTED = {"m": "{'a': 'x, y', 'b': 'it''s'}", "s": "{'k', 'l'}", "p": "(7, null)",
                "d": "1mo2h", "v": "[0.5, 2]", "u": "{x: 1.5, \"Note\": null}",
                "deep": "{'k': {{x: null, \"Note\": 'n'}}}"}

    def setUp(self):
        super().setUp()
        self.create(TYPED)

    def check(self):
        [row] = self.scan(table="typed")
        self.assertEqual({name: row[name] for name in self.EXPECTED}, self.EXPECTED)
        # What is printed can be read again.
        text = self.scan_text(table="typed")
        self.ingest(text, "--ignore", "day", table="typed")
        self.assertEqual(self.scan_text(table="typed"), text)

    def test_csv(self):
        names = list(self.EXPECTED)
        sheet = io.StringIO()
        writer = csv.writer(sheet)
        writer.writerow(["station", "ts", *names])
        writer.writerow(["a", MILLIS, *self.EXPECTED.values()])
        self.ingest(sheet.getvalue(), table="typed")
        self.check()

    def test_json(self):
        row = {"station": "a", "ts": MILLIS, "m": {"a": "x, y", "b": "it's"}, "s": ["k", "l"],
               "p": [7, None], "d": "1mo2h", "v": [0.5, 2], "u": {"x": 1.5},
               "deep": {"k": [{"Note": "n"}]}}
        self.ingest(json.dumps(row) + "\n", "--format", "jsonl", table="typed")
        self.check()

    def test_what_is_no_value_is_refused(self):
        self.ingest(f"station,ts,d\na,{MILLIS - 1},1h\n", table="typed")
        for column, value, words in (
                ("d", "1h2d", "expected a duration such as 1mo2d3h4m5s"),
                ("v", [1], "elements in all"), ("p", [1, "a", 2], "behind 2 values"),
                ("u", {"z": 1}, "expected a field of (x double, \"Note\" text)"),
                ("m", {"a": 1}, "expected a text in single quotes")):
            text = json.dumps({"station": "a", "ts": MILLIS, column: value}) + "\n"
            done = self.ingest(text, "--format", "jsonl", table="typed", expect=1)
            self.assertIn(words, done.err)
        self.assertEqual(len(self.scan(table="typed")), 1)


if __name__ == "__main__":
    unittest.main()
