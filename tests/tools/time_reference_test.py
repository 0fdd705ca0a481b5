#!/usr/bin/env python3
"""Times of text as `cistern ingest` reads them, beside Python's strptime and zoneinfo.

Every time that a pattern takes is the one that datetime.strptime makes of it, or glibc's strptime
for conversions that Python does not have. More may be refused: what, is listed here. The zones
of the tz database are read as zoneinfo reads them, at each of their changes.

Environment: CISTERN_TIME_LINES.
"""

import ctypes
import datetime
import itertools
import os
import pathlib
import random
import re
import struct
import subprocess
import time
import unittest
import zoneinfo

TIME_LINES = os.environ.get("CISTERN_TIME_LINES", "time_lines")
UTC = datetime.timezone.utc
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)
SECOND = datetime.timedelta(seconds=1)
PATTERNS = 240
TEXTS_PER_PATTERN = 460

DATES = ("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%Y/%m/%d", "%Y%m%d", "%d-%b-%Y", "%d %B %Y",
         "%a, %d %b %Y", "%A %d. %B %Y", "%b %d %Y", "%d/%m/%y", "%y%m%d", "%Y-%j", "%j/%y",
         "%G-W%V-%u", "%G %V %a", "%Y %U %w", "%Y-%W-%u", "%A %W %y", "%x", "%d%m%Y", "%w %d %m %Y",
         "day %d of month %m in %Y (100%%)", "%a %d.%m.%Y (%j)")
TIMES = ("%H:%M:%S", "%H:%M", "%H", "%H%M%S", "%H:%M:%S.%f", "%H.%M.%S,%f", "%I:%M:%S %p",
         "%I:%M %p", "%I%p", "%p %I:%M:%S", "%X", "%H:%M:%S%z", "%H:%M:%S %z", "%H:%M:%S.%f%z",
         "%I:%M:%S.%f %p %z", "%H:%M %Z", "%Hh %Mm %Ss", "T%H:%M:%SZ",
         "%H:%M %p")
WHOLE = ("%c", "%a %b %d %H:%M:%S %Y", "%H:%M:%S %d.%m.%Y", "%p%I%M%S%d%m%y", "%z %d.%m.%Y %H:%M",
         "%Y-%m-%dT%H:%M:%S.%f%z", "[%d/%b/%Y:%H:%M:%S %z]", "%S:%M:%H %j %Y",
         "%f %S %M %H %d %m %Y")
# What Python does not have, with what glibc's strftime writes by it.
GLIBC = ("%F %T", "%FT%T%z", "%D %R", "%e.%m.%Y %k:%M", "%e %h %y %l:%M:%S %p", "%D %r", "%s",
         "%C%y-%m-%d %R", "%F%n%T", "%F%t%H:%M", "%-d.%-m.%Y %-H:%M", "%Od.%Om.%EY %OH:%OM",
         "%_d/%_m/%Y %T", "%Ex %EX", "%h %e %Y %H:%M", "%d.%m.%C%y %T", "%0d.%0m.%Y %R")
# Refused although Python takes them, each for a value that would be wrong or made up.
REFUSED = {
    "%d.%m.%Y %I:%M": "12-hour clock", "%Y-%m": "a day", "%Y": "a day", "%H:%M": "a day",
    "%d %b": "a day", "%m/%d/%Y %p": "no %I", "%Y-%m-%d %M": "without hours",
    "%Y-%m-%d %H %S": "without minutes", "%Y-%m-%d %f": "without seconds",
    "%Y-%m-%d %H:%M:%S%f%y": "already|no sign parts", "%Y %U": "a day", "%a %d": "a day",
    "%Y-%m-%d ": "blank", "%Y-%m-%d%m": "already", "%q": "none of its parts", "%": "none of its",
}
PYTHON_KNOWS = set("aAbBcdfGHIjmMpSuUVwWxXyYzZ%")


class TimeLines:
    """The program under test, asked in one go: the answer to each line."""

    def __init__(self):
        self.lines = []

    def ask(self, letter, text=""):
        self.lines.append(f"{letter} {text}")

    def answers(self):
        done = subprocess.run([TIME_LINES], input="\n".join(self.lines) + "\n", text=True,
                              capture_output=True, check=True, timeout=250)
        answers = done.stdout.splitlines()
        assert len(answers) == len(self.lines), (len(answers), len(self.lines))
        return answers


def nanos_of(moment):
    whole, part = divmod(moment - EPOCH, SECOND)
    return whole * 10**9 + part.microseconds * 1000


def answered(answer):
    """Nanoseconds since 1970, or None for a refusal."""
    if answer.startswith("!"):
        return None
    seconds, nanos = answer.split()
    return int(seconds) * 10**9 + int(nanos)


# --- the references

class BrokenDownTime(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int) for name in
                ("sec", "min", "hour", "mday", "mon", "year", "wday", "yday", "isdst")]
    _fields_ += [("gmtoff", ctypes.c_long), ("zone", ctypes.c_char_p)]


GLIBC_STRPTIME = ctypes.CDLL(None).strptime
GLIBC_STRPTIME.argtypes = (ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(BrokenDownTime))
GLIBC_STRPTIME.restype = ctypes.c_void_p
GLIBC_STRFTIME = ctypes.CDLL(None).strftime
GLIBC_STRFTIME.argtypes = (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p,
                           ctypes.POINTER(BrokenDownTime))


def by_python(pattern, text):
    try:
        moment = datetime.datetime.strptime(text, pattern)
        return nanos_of(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, IndexError, OverflowError):
        return None


def by_glibc(pattern, text):
    broken = BrokenDownTime(mday=1)
    data = ctypes.create_string_buffer(text.encode())
    end = GLIBC_STRPTIME(data, pattern.encode(), ctypes.byref(broken))
    if end is None or end != ctypes.addressof(data) + len(text.encode()):
        return None
    try:
        moment = datetime.datetime(broken.year + 1900, broken.mon + 1, broken.mday, broken.hour,
                                   broken.min, broken.sec, tzinfo=UTC)
        return nanos_of(moment - broken.gmtoff * SECOND)
    except ValueError:
        return None


def is_pythons(pattern):
    return all(letter in PYTHON_KNOWS for letter in re.findall("%(.)", pattern))


def by_reference(pattern, text):
    return (by_python if is_pythons(pattern) else by_glibc)(pattern, text)


def as_python_has_it(pattern):
    """A pattern of glibc's in what Python knows: cases of letters and blanks are its then."""
    pattern = re.sub("%[-_0^#]*[EO]?", "%", pattern).replace("%C%y", "%Y")
    for written_, meaning in (("%F", "%Y-%m-%d"), ("%T", "%H:%M:%S"), ("%R", "%H:%M"),
                              ("%D", "%m/%d/%y"), ("%r", "%I:%M:%S %p"), ("%h", "%b"),
                              ("%e", "%d"), ("%k", "%H"), ("%l", "%I"), ("%n", " "), ("%t", " ")):
        pattern = pattern.replace(written_, meaning)
    return pattern


def wider_readings(pattern, text):
    """What is taken beyond the reference: each as a text and pattern that mean the same there,
    and the nanoseconds to add."""
    swaps = str.maketrans({"b": "B", "B": "b", "a": "A", "A": "a"})
    other_names = re.sub("%[aAbB]", lambda found: found[0].translate(swaps), pattern)
    texts = [(text, 0)]
    for found in re.finditer(r"[.,](\d{1,9})0*(?!\d)", text):  # of %S
        texts.append((text[:found.start()] + text[found.end():], int(found[1].ljust(9, "0"))))
    for found in re.finditer(r"(?<!\d)(\d{6})(\d{1,3})0*(?!\d)", text):  # of %f
        texts.append((text[:found.end(1)] + text[found.end():], int(found[2].ljust(3, "0"))))
    for candidate, extra in list(texts):
        texts.append((re.sub(r"([+-]\d\d)$", r"\g<1>00", candidate), extra))
        texts.append((re.sub("z$", "Z", candidate), extra))
        texts.append((re.sub("(ut|z)$", "UTC", candidate, flags=re.I), extra))
    patterns = {pattern, as_python_has_it(pattern), other_names,
                pattern.replace("%b", "%B"), pattern.replace("%a", "%A"),
                pattern.replace("%B", "%b"), pattern.replace("%A", "%a")}
    return [(p, t, extra) for p in patterns for t, extra in texts]


# --- what is read

def written(pattern, moment):
    """As the reference's own strftime writes it, with years in four digits."""
    if is_pythons(pattern):
        for letter, value in (("Y", moment.year), ("G", moment.isocalendar()[0])):
            pattern = pattern.replace("%" + letter, f"{value:04}")
        return moment.strftime(pattern)
    tuple_ = moment.timetuple()
    broken = BrokenDownTime(tuple_.tm_sec, tuple_.tm_min, tuple_.tm_hour, tuple_.tm_mday,
                            tuple_.tm_mon - 1, tuple_.tm_year - 1900, (tuple_.tm_wday + 1) % 7,
                            tuple_.tm_yday - 1, 0,
                            int(moment.utcoffset() / SECOND), b"UTC")
    room = ctypes.create_string_buffer(300)
    GLIBC_STRFTIME(room, 300, pattern.encode(), ctypes.byref(broken))
    return room.value.decode().replace("\n", " ")  # a line is a text here


def some_moment(dice, pattern):
    years = (1, 9999) if is_pythons(pattern) and "%c" not in pattern else (1000, 9999)
    if re.search("%[yD]|%E?x", pattern) and "%C" not in pattern:
        years = (1969, 2068)
    if "%s" in pattern:
        years = (1970, 2100)
    first, last = (datetime.datetime(year, month, day) for year, month, day in
                   ((years[0], 1, 2), (years[1], 12, 30)))
    moment = first + SECOND * dice.randrange(int((last - first) / SECOND))
    if dice.random() < 0.3:  # where clocks and calendars turn
        moment = moment.replace(hour=dice.choice((0, 11, 12, 13, 23)),
                                minute=dice.choice((0, 59)), second=dice.choice((0, 59)))
    if dice.random() < 0.1:
        moment = moment.replace(month=dice.choice((1, 12)), day=dice.choice((1, 2, 30)))
    moment = moment.replace(microsecond=dice.choice((0, 1, 250000, dice.randrange(10**6))))
    offset_min = dice.choice((0, 0, 60, 120, -360, 330, dice.randrange(-1080, 1081)))
    has_offset = "%z" in pattern
    zone = datetime.timezone(datetime.timedelta(minutes=offset_min)) if has_offset else UTC
    return moment.replace(tzinfo=zone)


def mutated(dice, text):
    """The text with a small error, or written a little differently."""
    kind = dice.randrange(7)
    at = dice.randrange(len(text))
    if kind == 0:
        return text[:at] + text[at + 1:]
    if kind == 1:
        return text[:at] + dice.choice("0123456789 :.-/APMapmZ+") + text[at:]
    if kind == 2:
        return text[:at] + dice.choice("0123456789") + text[at + 1:]
    if kind == 3:
        return text.swapcase()
    if kind == 4:
        return re.sub(r"\b0(?=\d)", "", text)
    if kind == 5:
        return re.sub(r"([+-]\d\d)(\d\d)$", dice.choice((r"\1:\2", r"\1", r"\1:\2:30")), text)
    return text.replace(" ", "  ")


class TimeReference(unittest.TestCase):
    @staticmethod
    def patterns():
        """All of the last two lists, and some of the many that the first two make."""
        many = [*DATES, *(f"{day} {time_}" for day, time_ in itertools.product(DATES, TIMES))]
        return [*WHOLE, *GLIBC, *random.Random(1752).sample(many, PATTERNS - len(WHOLE + GLIBC))]

    def test_patterns(self):
        dice = random.Random(19700101)
        patterns = self.patterns()
        program = TimeLines()
        asked = []
        for pattern in patterns:
            program.ask("F", pattern)
            asked.append((pattern, None, None))
            for i in range(TEXTS_PER_PATTERN):
                moment = some_moment(dice, pattern)
                text = written(pattern, moment)
                is_mutated = i % 3 == 2
                text = mutated(dice, text) if is_mutated else text
                program.ask("T", text)
                asked.append((pattern, text, is_mutated))
        taken = 0
        refused = 0
        for (pattern, text, is_mutated), answer in zip(asked, program.answers()):
            if text is None:
                self.assertEqual(answer, "ok", pattern)
                continue
            expected = by_reference(pattern, text)
            found = answered(answer)
            if found is not None:
                self.check_taken(pattern, text, expected, found)
                taken += 1
            elif expected is not None:
                self.check_refused(pattern, text, answer, is_mutated)
                refused += 1
            else:
                self.assertTrue(is_mutated, f"{pattern!r} {text!r}: the reference refuses")
        print(f"{len(patterns)} patterns, {len(asked) - len(patterns)} texts: {taken} taken, "
              f"{refused} refused that the reference takes")
        self.assertGreaterEqual(len(patterns), 200)
        self.assertGreater(taken, 70_000)

    def check_taken(self, pattern, text, expected, found):
        if expected is None:
            means = {value + extra for p, t, extra in wider_readings(pattern, text)
                     if (value := by_reference(p, t)) is not None}
            self.assertIn(found, means, f"{pattern!r} {text!r}: the reference refuses")
        else:
            self.assertEqual(found, expected, f"{pattern!r} {text!r}")

    def check_refused(self, pattern, text, answer, is_mutated):
        """Only what contradicts itself, week 0 of ISO's, an offset that no clock has, and what
        glibc takes beyond Python."""
        told = f"{pattern!r} {text!r}: {answer}"
        self.assertTrue(is_mutated, told)
        contradicts = re.search(r"contradicts itself|%V \(1 to 53\)|not a date of the", answer)
        if contradicts and is_pythons(pattern):
            again = written(pattern, datetime.datetime.strptime(text, pattern))
            again, text = (re.sub(r"\b0+(?=\d)", "", words).lower() for words in (again, text))
            self.assertNotEqual(again, text, told)
            return
        if "where %z" in answer and re.search(r"[+-](19|2\d)", text):
            return
        self.assertFalse(is_pythons(pattern), told)

    def test_refused_patterns(self):
        program = TimeLines()
        for pattern in REFUSED:
            program.ask("F", pattern)
        for (pattern, why), answer in zip(REFUSED.items(), program.answers()):
            self.assertRegex(answer, f"^! .*({why})", pattern)

    # --- zones

    @staticmethod
    def changes_of(data):
        """The moments of changes that a file lists, and some by the rule behind them."""
        counts = struct.unpack(">6l", data[20:44])
        first = 44 + counts[3] * 5 + counts[4] * 6 + counts[5] + counts[2] * 8
        first += counts[1] + counts[0]
        count = struct.unpack(">6l", data[first + 20:first + 44])[3]
        return list(struct.unpack(f">{count}q", data[first + 44:first + 44 + count * 8]))

    @staticmethod
    def changes_of_year(zone, year):
        """By looking: days first, then the second."""
        days = [datetime.datetime(year, 1, 1, tzinfo=UTC) + datetime.timedelta(days=day)
                for day in range(0, 365)]
        offset = [day.astimezone(zone).utcoffset() for day in days]
        found = []
        for i in range(1, len(days)):
            if offset[i] == offset[i - 1]:
                continue
            low, high = 0, 86_400
            while high - low > 1:
                middle = (low + high) // 2
                at = days[i - 1] + middle * SECOND
                low, high = ((middle, high) if at.astimezone(zone).utcoffset() == offset[i - 1]
                             else (low, middle))
            found.append(int((days[i - 1] + high * SECOND - EPOCH) / SECOND))
        return found

    @staticmethod
    def moments_of(zone, local):
        """The moments at which clocks of the zone show the time, by zoneinfo."""
        found = set()
        for fold in (0, 1):
            moment = local.replace(tzinfo=zone, fold=fold).astimezone(UTC)
            if moment.astimezone(zone).replace(tzinfo=None) == local:
                found.add(nanos_of(moment))
        return sorted(found)

    def local_times(self, name, zone, seen):
        """Times around each change, before and after it."""
        data = next((path.read_bytes() for folder in zoneinfo.TZPATH
                     if (path := pathlib.Path(folder) / name).is_file()), b"")
        if data in seen:  # another name of a zone
            return [datetime.datetime(2024, month, 15, 12) for month in (1, 7)]
        seen.add(data)
        changes = [at for at in self.changes_of(data) if at > -62_000_000_000]
        if b"," in data[data.rfind(b"\n", 0, -1):]:
            for year in (2038, 2071, 2400, 2438, 9998):
                changes += self.changes_of_year(zone, year)
        times = set()
        for at in changes:
            moment = EPOCH + at * SECOND
            for before in (-1, 0):
                offset = (moment + before * SECOND).astimezone(zone).utcoffset()
                local = (moment + offset).replace(tzinfo=None)
                times |= {local - SECOND, local, local + 1800 * SECOND}
        times |= {datetime.datetime(year, 6, 1, 12) for year in (2, 1850, 1970, 2030, 9999)}
        return sorted(times)

    def test_zones(self):
        names = sorted(zoneinfo.available_timezones())
        self.assertGreater(len(names), 400)
        program = TimeLines()
        asked = []
        seen = set()
        for name in names:
            zone = zoneinfo.ZoneInfo(name)
            program.ask("Z", name)
            asked.append((name, None, None, None))
            times = [(local, self.moments_of(zone, local), str(local)) for local in
                     self.local_times(name, zone, seen)]
            for which in ("refuse", "earlier", "later"):
                program.ask("A", which)
                asked.append((name, None, None, None))
                for local, moments, text in times:
                    if which != "refuse" and len(moments) < 2:
                        continue
                    program.ask("T", text)
                    asked.append((name, text, which, moments))
        twice = 0
        none = 0
        for (name, text, which, moments), answer in zip(asked, program.answers()):
            if text is None:
                self.assertEqual(answer, "ok", name)
                continue
            told = f"{name} {text} {which}: {answer}"
            twice += len(moments) > 1
            none += not moments
            if not moments:
                self.assertIn("does not exist in", answer, told)
            elif len(moments) > 1 and which == "refuse":
                self.assertIn("is there twice in", answer, told)
            else:
                self.assertEqual(answered(answer), moments[-1 if which == "later" else 0], told)
        print(f"{len(names)} zones, {len(seen)} different ones, {len(asked)} questions: {none} of "
              f"times that do not exist, {twice} of times that are there twice")
        self.assertGreater(none, 5_000)
        self.assertGreater(twice, 5_000)


if __name__ == "__main__":
    os.environ["TZ"] = "UTC"
    time.tzset()
    unittest.main(verbosity=1)
