"""The tool's reader of line protocol against a parser of the specification, on a corpus of small
files and on generated points, valid and broken.

Environment: CISTERN_LINE_PROTOCOL_DUMP, CISTERN_SOURCE_DIR.
"""

import json
import os
import random
import subprocess
import unittest
from pathlib import Path

import line_protocol_spec

DUMP = os.environ.get("CISTERN_LINE_PROTOCOL_DUMP", "line_protocol_dump")
CORPUS = Path(os.environ.get("CISTERN_SOURCE_DIR", ".")) / "tests/tools/line_protocol"
POINTS = 100_000
CHUNK = 5_000  # points for one process


def read_by_tool(data):
    done = subprocess.run([DUMP], input=data, capture_output=True, check=True, timeout=120)
    records = []
    for line in done.stdout.decode().splitlines():
        kind, number, size, rest = json.loads(line)
        if kind == "bad":
            records.append((kind, number, size))
        else:
            records.append((kind, number, size,
                            [(name.encode(), text.encode(), quoted)
                             for name, text, quoted in rest]))
    return records


class Generator:
    """Points as clients write them, with what is hard about them, and broken ones."""

    WORDS = ("m", "cpu", "host", "a b", "a,b", "a=b", "C:\\dir", "x\\\\y", "é", "温度", '"q"', "#x",
             "\\,", "1", "-", "true", "time", "a\\n", " ", "=", "\\ ", "v=1")
    FLOATS = ("1", "-1.5", ".5", "-.5", "1.", "1e5", "1.5E-7", "1e+300", "0", "-0", "1e308", "007",
              "123456789012345678901234567890", "1e-400", "-2.e3")
    BROKEN_VALUES = ("1e309", "+1", "NaN", "inf", "1e", ".", "-", "e5", "0x10", "1_000", "1.5i",
                     "-1u", "9223372036854775808i", "18446744073709551616u", "i", "tRUE", "yes",
                     "word", "", "1 2", "'x'", "truei", "1ii", "--1", "1.2.3", "t1")
    STRINGS = ("", "x", "two\nlines", "\r\n", "a,b=c d", '"', "\\", 'C:\\dir\\', "# no comment",
               "\nm v=1 5\n", "\\n", "\t", "é", "\x01", "tail\\\"", "m,t=a v=1 1\n")
    JUNK = ("\\", '"', ",", "=", " ", "\n", "\r", "\t", "#", "i", "\x7f", "é", "1", "\\\n", "\x00")

    def __init__(self, seed):
        self.random = random.Random(seed)

    def escaped(self, word, special):
        """As a client writes it; a word that ends in a backslash cannot be written."""
        return "".join("\\" + c if c in special else c for c in word.rstrip("\\")) or "w"

    def word(self, special):
        return self.escaped(self.random.choice(self.WORDS), special)

    def value(self):
        pick = self.random.random()
        if pick < 0.3:
            return self.random.choice(self.FLOATS)
        if pick < 0.45:
            return f"{self.random.randint(-2**63, 2**63 - 1)}i"
        if pick < 0.55:
            return f"{self.random.randint(0, 2**64 - 1)}u"
        if pick < 0.65:
            return self.random.choice(("t", "T", "true", "True", "TRUE",
                                       "f", "F", "false", "False", "FALSE"))
        if pick < 0.7:
            return self.random.choice(self.BROKEN_VALUES)
        text = "".join(self.random.choice(self.STRINGS) for _ in range(self.random.randint(0, 3)))
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    def point(self):
        measurement = self.word(", ")
        if measurement.startswith("#") and self.random.random() < 0.7:
            measurement = "m" + measurement  # otherwise it is a comment
        tags = "".join(f",{self.word(',= ')}={self.word(',= ')}"
                       for _ in range(self.random.randint(0, 3)))
        fields = ",".join(f"{self.word(',= ')}={self.value()}"
                          for _ in range(self.random.randint(1, 4)))
        gap = " " * self.random.choice((1, 1, 1, 2))
        time = ""
        if self.random.random() < 0.8:
            time = gap + self.random.choice(
                (str(self.random.randint(-2**63, 2**63 - 1)), "1772524800", "0", "-1"))
        return measurement + tags + gap + fields + time

    def mutated(self, text):
        for _ in range(self.random.randint(1, 3)):
            at = self.random.randrange(len(text) + 1)
            pick = self.random.random()
            if pick < 0.4:
                text = text[:at] + self.random.choice(self.JUNK) + text[at:]
            elif pick < 0.8:
                text = text[:at] + text[at + 1:]
            else:
                other = self.random.randrange(len(text) + 1)
                text = text[:at] + text[min(at, other):]
        return text

    def entry(self):
        pick = self.random.random()
        if pick < 0.03:
            return self.random.choice(("", "   ", "# a comment", " # \" quote", "#\x01", "#\t"))
        text = self.point()
        if pick < 0.4:
            text = self.mutated(text)
        return text

    def data(self, count):
        parts = []
        for _ in range(count):
            line = self.entry().encode()
            if self.random.random() < 0.01 and line:  # not UTF-8
                at = self.random.randrange(len(line))
                line = line[:at] + b"\xff" + line[at:]
            parts.append(line + (b"\r\n" if self.random.random() < 0.1 else b"\n"))
        if self.random.random() < 0.5:
            parts[-1] = parts[-1].rstrip(b"\r\n")
        return b"".join(parts)


class LineProtocolSpec(unittest.TestCase):
    maxDiff = 4000

    def compare(self, data):
        expected = list(line_protocol_spec.parse(data))
        found = read_by_tool(data)
        for number, (mine, its) in enumerate(zip(expected, found, strict=False)):
            if mine != its:
                lines = data.split(b"\n")
                near = b"\n".join(lines[mine[1] - 1:mine[1] + 3])
                self.assertEqual(mine, its, f"record {number}, near {near!r}")
        self.assertEqual(len(expected), len(found))
        return expected

    def test_generated_points(self):
        points, bad = 0, 0
        for seed in range(POINTS // CHUNK):
            records = self.compare(Generator(seed).data(CHUNK))
            points += sum(record[0] == "point" for record in records)
            bad += sum(record[0] == "bad" for record in records)
        print(f"{POINTS} entries: {points} points, {bad} refused")
        # A comparison of refusals alone, or of none, would show nothing.
        self.assertGreater(points, POINTS // 3)
        self.assertGreater(bad, POINTS // 10)

    def test_the_corpus(self):
        files = sorted(CORPUS.glob("*.lp"))
        self.assertGreaterEqual(len(files), 25)
        for file in files:
            with self.subTest(file=file.name):
                expected = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
                found = self.compare(file.read_bytes())
                self.assertEqual(len(expected), len(found))
                for want, got in zip(expected, found, strict=True):
                    self.assertEqual(want["line"], got[1])
                    if "cells" not in want:
                        self.assertEqual(got[0], "bad", got)
                        continue
                    self.assertEqual(got[0], "point", got)
                    self.assertEqual([tuple(cell) for cell in want["cells"]],
                                     [(name.decode(), text.decode())
                                      for name, text, _ in got[3]])

    def test_a_string_may_be_as_long_as_a_point_may_be(self):
        for size in (65_000, line_protocol_spec.LIMIT - len('m s=""\n'),
                     line_protocol_spec.LIMIT - len('m s=""\n') + 1):
            text = ("x" * 99 + "\n") * (size // 100)
            text += "y" * (size - len(text))
            self.compare(f'm s="{text}"\nm v=1 5\n'.encode())


if __name__ == "__main__":
    unittest.main()
