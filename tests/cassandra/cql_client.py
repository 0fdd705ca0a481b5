"""A small CQL client for starting and probing a server: native protocol v4, one request at a time.

It is no oracle: what arrived is read back by the Python driver (read_partitions.py). Formats:
Cassandra's doc/native_protocol_v4.spec; all integers are big-endian.
"""

import ipaddress
import socket
import ssl
import struct
import uuid

from patience import patience_s

VERSION = 0x04
RESPONSE_BIT = 0x80
HEADER = struct.Struct(">BBhBi")  # version, flags, stream, opcode, body length
BODY_BYTES_MAX = 256 << 20

ERROR, STARTUP, READY, AUTHENTICATE, OPTIONS, SUPPORTED, QUERY, RESULT = 0, 1, 2, 3, 5, 6, 7, 8
AUTH_RESPONSE, AUTH_SUCCESS = 0x0F, 0x10
FLAG_TRACING, FLAG_PAYLOAD, FLAG_WARNING = 0x02, 0x04, 0x08
RESULT_ROWS, RESULT_SCHEMA_CHANGE = 2, 5
ROWS_GLOBAL_SPEC, ROWS_MORE_PAGES = 1, 2
QUERY_PAGE_SIZE, QUERY_PAGING_STATE = 0x04, 0x08
PAGE_ROWS = 5000

CONSISTENCY = {name: code for code, name in enumerate(
    ["ANY", "ONE", "TWO", "THREE", "QUORUM", "ALL", "LOCAL_QUORUM", "EACH_QUORUM", "SERIAL",
     "LOCAL_SERIAL", "LOCAL_ONE"])}
BAD_CREDENTIALS, UNAVAILABLE, OVERLOADED, INVALID = 0x0100, 0x1000, 0x1001, 0x2200

TYPE_CUSTOM, TYPE_LIST, TYPE_MAP, TYPE_SET, TYPE_UDT, TYPE_TUPLE = 0, 0x20, 0x21, 0x22, 0x30, 0x31


class CqlError(Exception):
    """An ERROR of the server."""

    def __init__(self, code, message):
        super().__init__(f"error 0x{code:04x}: {message}")
        self.code = code
        self.message = message


class Reader:
    """Takes the notations of the protocol from the front of a body."""

    def __init__(self, body):
        self.body = body
        self.at = 0

    def take(self, count):
        if count < 0 or self.at + count > len(self.body):
            raise ConnectionError("the server's reply ends early")
        self.at += count
        return self.body[self.at - count:self.at]

    def number(self, form):
        return struct.unpack(">" + form, self.take(struct.calcsize(">" + form)))[0]

    def string(self):
        return self.take(self.number("H")).decode()

    def strings(self):
        return [self.string() for _ in range(self.number("H"))]

    def bytes(self):
        length = self.number("i")
        return None if length < 0 else self.take(length)

    def option(self):
        """A type: (code, argument types)."""
        code = self.number("H")
        if code == TYPE_CUSTOM:
            return code, [self.string()]
        if code in (TYPE_LIST, TYPE_SET):
            return code, [self.option()]
        if code == TYPE_MAP:
            return code, [self.option(), self.option()]
        if code == TYPE_TUPLE:
            return code, [self.option() for _ in range(self.number("H"))]
        if code == TYPE_UDT:
            self.string(), self.string()
            return code, [(self.string(), self.option()) for _ in range(self.number("H"))]
        return code, []


def string(text):
    raw = text.encode()
    return struct.pack(">H", len(raw)) + raw


def scalar(form):
    return lambda raw: struct.unpack(">" + form, raw)[0]


SCALARS = {
    0x01: lambda raw: raw.decode("ascii"), 0x02: scalar("q"), 0x03: lambda raw: "0x" + raw.hex(),
    0x04: lambda raw: raw != b"\0", 0x05: scalar("q"), 0x07: scalar("d"), 0x08: scalar("f"),
    0x09: scalar("i"), 0x0B: scalar("q"), 0x0C: lambda raw: str(uuid.UUID(bytes=raw)),
    0x0D: lambda raw: raw.decode(), 0x0E: lambda raw: int.from_bytes(raw, "big", signed=True),
    0x0F: lambda raw: str(uuid.UUID(bytes=raw)), 0x10: lambda raw: str(ipaddress.ip_address(raw)),
    0x11: lambda raw: scalar("I")(raw) - 2**31, 0x12: scalar("q"), 0x13: scalar("h"),
    0x14: scalar("b"),
}


def value(option, raw):
    """A value as JSON can hold it: times as integers, what is not known here as hex digits."""
    code, arguments = option
    if raw is None:
        return None
    if code in (TYPE_LIST, TYPE_SET):
        reader = Reader(raw)
        return [value(arguments[0], reader.bytes()) for _ in range(reader.number("i"))]
    if code == TYPE_MAP:
        reader = Reader(raw)
        return [[value(arguments[0], reader.bytes()), value(arguments[1], reader.bytes())]
                for _ in range(reader.number("i"))]
    if code not in SCALARS or (not raw and code not in (0x01, 0x03, 0x0D)):
        return "0x" + raw.hex()
    return SCALARS[code](raw)


class CqlClient:
    """A connection, ready for queries. Not for several threads."""

    def __init__(self, address, port, *, ca=None, user=None, password=None,
                 throw_on_overload=False, timeout_s=None):
        """ca: path of the authority that signed the server's certificate; none: no TLS."""
        timeout_s = patience_s(60) if timeout_s is None else timeout_s
        self.supported = {}
        self.schema_changed = False  # by a statement of this connection
        self.socket = socket.create_connection((address, port), timeout=timeout_s)
        try:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if ca is not None:
                context = ssl.create_default_context(cafile=str(ca))
                self.socket = context.wrap_socket(self.socket, server_hostname=address)
            self._open(user, password, throw_on_overload)
        except BaseException:
            self.socket.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def _receive(self, count):
        parts = bytearray()
        while len(parts) < count:
            part = self.socket.recv(min(count - len(parts), 1 << 20))
            if not part:
                raise ConnectionError("the server closed the connection")
            parts += part
        return bytes(parts)

    def request(self, opcode, body=b""):
        """Sends one request and waits for its reply: (opcode, Reader of the body)."""
        self.socket.sendall(HEADER.pack(VERSION, 0, 0, opcode, len(body)) + body)
        version, flags, _, opcode, length = HEADER.unpack(self._receive(HEADER.size))
        if not version & RESPONSE_BIT or not 0 <= length <= BODY_BYTES_MAX:
            raise ConnectionError("this is no CQL server")
        reader = Reader(self._receive(length))
        if flags & FLAG_TRACING:
            reader.take(16)
        if flags & FLAG_WARNING:
            reader.strings()
        if flags & FLAG_PAYLOAD:
            for _ in range(reader.number("H")):
                reader.string(), reader.bytes()
        if opcode == ERROR:
            raise CqlError(reader.number("i"), reader.string())
        return opcode, reader

    def _open(self, user, password, throw_on_overload):
        _, reader = self.request(OPTIONS)
        self.supported = {reader.string(): reader.strings() for _ in range(reader.number("H"))}
        options = {"CQL_VERSION": "3.0.0"}
        if throw_on_overload:
            options["THROW_ON_OVERLOAD"] = "1"
        body = struct.pack(">H", len(options))
        body += b"".join(string(name) + string(text) for name, text in options.items())
        opcode, _ = self.request(STARTUP, body)
        if opcode == AUTHENTICATE:
            if user is None:
                raise CqlError(BAD_CREDENTIALS, "the server asks for a password; none was given")
            token = b"\0" + user.encode() + b"\0" + password.encode()
            opcode, _ = self.request(AUTH_RESPONSE, struct.pack(">i", len(token)) + token)
        if opcode not in (READY, AUTH_SUCCESS):
            raise ConnectionError(f"unexpected reply 0x{opcode:02x} to STARTUP")

    def query(self, text, consistency="ONE"):
        """All rows, as dictionaries; an empty list for what gives none."""
        rows = []
        paging_state = None
        statement = text.encode()
        while True:
            body = struct.pack(">i", len(statement)) + statement
            flags = QUERY_PAGE_SIZE | (QUERY_PAGING_STATE if paging_state is not None else 0)
            body += struct.pack(">HBi", CONSISTENCY[consistency], flags, PAGE_ROWS)
            if paging_state is not None:
                body += struct.pack(">i", len(paging_state)) + paging_state
            opcode, reader = self.request(QUERY, body)
            kind = reader.number("i") if opcode == RESULT else None
            self.schema_changed = self.schema_changed or kind == RESULT_SCHEMA_CHANGE
            if kind != RESULT_ROWS:
                return rows
            page, paging_state = read_rows(reader)
            rows += page
            if paging_state is None:
                return rows


def read_rows(reader):
    """(rows, paging state or None) from the body of a RESULT of kind Rows."""
    flags = reader.number("i")
    count = reader.number("i")
    paging_state = reader.bytes() if flags & ROWS_MORE_PAGES else None
    if flags & ROWS_GLOBAL_SPEC:
        reader.string(), reader.string()
    columns = []
    for _ in range(count):
        if not flags & ROWS_GLOBAL_SPEC:
            reader.string(), reader.string()
        columns.append((reader.string(), reader.option()))
    rows = [{name: value(option, reader.bytes()) for name, option in columns}
            for _ in range(reader.number("i"))]
    return rows, paging_state
