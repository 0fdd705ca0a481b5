"""A parser of InfluxDB's line protocol from its specification, for tests.

It is written from the grammar, one character at a time, and shares neither code nor approach with
the tool's reader. It is slow and plain: each rule of the grammar is a method. The grammar is
line-protocol.ebnf in github.com/influxdata/line-protocol.
"""

LIMIT = 64 * 1024  # bytes of one point, its line end included
SPACE = 0x20


class Refused(Exception):
    """This point is not line protocol."""


class NeverClosed(Refused):
    """A string has no closing quote."""


class Point:
    """One point in `data` from `at` on."""

    def __init__(self, data, at):
        self.data = data
        self.at = at
        self.limit = min(len(data), at + LIMIT)

    def peek(self, ahead=0):
        """The byte there, or None at the end of the input or of what a point may have."""
        index = self.at + ahead
        return self.data[index] if index < self.limit else None

    def at_line_end(self):
        if self.at >= len(self.data):
            return True
        if self.peek() == 0x0A:
            return True
        if self.peek() != 0x0D:
            return False
        return self.at + 1 >= len(self.data) or self.peek(1) == 0x0A

    def spaces(self):
        count = 0
        while self.peek() == SPACE:
            self.at += 1
            count += 1
        return count

    def expect(self, character):
        if self.peek() != ord(character):
            raise Refused(f"no {character!r} at byte {self.at}")
        self.at += 1

    def word(self, escaped):
        """A measurement, a key or a tag value: ends before what may only stand in it escaped."""
        special = {ord(c) for c in escaped}
        out = bytearray()
        while True:
            byte = self.peek()
            if byte is None or byte < 0x20 or byte == 0x7F or byte in special:
                break
            if byte == 0x5C and self.peek(1) in special:
                self.at += 1
                byte = self.peek()
            out.append(byte)
            self.at += 1
        if not out:
            raise Refused(f"an empty word at byte {self.at}")
        return bytes(out)

    def tag(self):
        self.expect(",")
        key = self.word(",= ")
        self.expect("=")
        return key, self.word(",= "), False

    def string(self):
        self.expect('"')
        out = bytearray()
        while True:
            byte = self.peek()
            if byte is None:
                raise NeverClosed("a string without its end")
            self.at += 1
            if byte == 0x22:
                return bytes(out)
            if byte == 0x5C and self.peek() in (0x22, 0x5C):
                byte = self.peek()
                self.at += 1
            out.append(byte)

    def digits(self):
        begin = self.at
        while self.peek() is not None and 0x30 <= self.peek() <= 0x39:
            self.at += 1
        return self.data[begin:self.at]

    def ends_here(self):
        """Whether a value without quotes may end here."""
        return self.peek() in (SPACE, ord(",")) or self.at_line_end()

    def number(self):
        begin = self.at
        negative = self.peek() == ord("-")
        self.at += negative
        whole = self.digits()
        if whole and self.peek() in (ord("i"), ord("u")):
            text = self.data[begin:self.at]
            unsigned = self.peek() == ord("u")
            if unsigned and negative:
                raise Refused("a sign before an unsigned integer")
            low, high = (0, 2**64 - 1) if unsigned else (-2**63, 2**63 - 1)
            if not low <= int(text) <= high:
                raise Refused("beyond 64 bits")
            self.at += 1
        else:
            fraction = b""
            if self.peek() == ord("."):
                self.at += 1
                fraction = self.digits()
            if not whole and not fraction:
                raise Refused("no digits")
            if self.peek() in (ord("e"), ord("E")):
                self.at += 1
                if self.peek() in (ord("+"), ord("-")):
                    self.at += 1
                if not self.digits():
                    raise Refused("no digits in an exponent")
            text = self.data[begin:self.at]
            if float(text) in (float("inf"), float("-inf")):
                raise Refused("beyond a double")
        if not self.ends_here():
            raise Refused("more behind a number")
        return text

    def boolean(self):
        for words, meaning in (((b"true", b"True", b"TRUE", b"t", b"T"), b"true"),
                               ((b"false", b"False", b"FALSE", b"f", b"F"), b"false")):
            for word in words:
                if self.data.startswith(word, self.at) and self.at + len(word) <= self.limit:
                    self.at += len(word)
                    if self.ends_here():
                        return meaning
                    self.at -= len(word)
        raise Refused("no value")

    def field(self):
        key = self.word(",= ")
        self.expect("=")
        byte = self.peek()
        if byte == 0x22:
            return key, self.string(), True
        if byte is not None and (0x30 <= byte <= 0x39 or byte in b"-."):
            return key, self.number(), False
        return key, self.boolean(), False

    def timestamp(self):
        begin = self.at
        if self.peek() == ord("-"):
            self.at += 1
        if not self.digits():
            raise Refused("no timestamp")
        text = self.data[begin:self.at]
        if not -2**63 <= int(text) < 2**63:
            raise Refused("a timestamp beyond 64 bits")
        return text

    def parse(self):
        """The cells of the point; stands at its line end then."""
        cells = [(b"measurement()", self.word(", "), False)]
        while self.peek() == ord(","):
            cells.append(self.tag())
        if not self.spaces():
            raise Refused("no space before the fields")
        cells.append(self.field())
        while self.peek() == ord(","):
            self.at += 1
            cells.append(self.field())
        parted = self.spaces()
        if not self.at_line_end():
            if not parted:
                raise Refused("no space before the timestamp")
            cells.append((b"timestamp()", self.timestamp(), False))
            self.spaces()
            if not self.at_line_end():
                raise Refused("more behind the timestamp")
        return cells


def storable(raw):
    """Whether the tool takes these bytes as text at all."""
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in raw


def comment_is_good(line):
    line = line.removesuffix(b"\n").removesuffix(b"\r")
    return all(byte == 0x09 or (byte >= 0x20 and byte != 0x7F) for byte in line)


def parse(data):
    """All points: ("point", line, bytes, [(name, text, quoted), ...]) or ("bad", line, bytes).

    What follows an error is the tool's own rule: the next line after the one of the error, or
    after the first line of the point where a string is never closed.
    """
    at, line = 0, 1
    while at < len(data):
        end = data.find(b"\n", at) + 1 or len(data)
        point = Point(data, at)
        point.spaces()
        first = point.peek()
        if first is None or point.at_line_end():
            at, line = end, line + 1
            continue
        if first == ord("#"):
            if not comment_is_good(data[point.at:end]):
                yield "bad", line, end - at
            at, line = end, line + 1
            continue
        cells = None
        first_line_end = end
        try:
            cells = point.parse()
        except NeverClosed:
            point.at = at
        except Refused:
            pass
        end = data.find(b"\n", point.at) + 1 or len(data)
        if end - at > LIMIT:
            cells, end = None, first_line_end
        raw = data[at:end]
        if cells is None or not storable(raw):
            yield "bad", line, len(raw)
        else:
            yield "point", line, len(raw), cells
        at, line = end, line + raw.count(b"\n")
