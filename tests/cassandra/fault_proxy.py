"""A TCP proxy before a node that knows the frames of the native protocol, and does one scripted
thing when the n-th of a kind comes by.

Requests and their replies are counted by the opcode of the request, over all connections and from
1 on: ("reply", "BATCH", 3) is the answer to a batch that came third of all such answers; those that
are errors count as "ERROR" besides. What is passed or kept back is a frame: all that one v5 frame
holds, or one envelope where there are no frames. LZ4 is unpacked to look inside; nothing that
passes is changed, unless `plain` is asked for.

A client that is sent by the node's own system.local to another address would go around the proxy:
`counts` and `upstream_ports` tell whether it did.

Formats: native_protocol_v5.spec, sections 2 and 4; engine/cql/frame.h.
"""

import contextlib
import select
import socket
import struct
import threading
from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import Callable, Optional

HEADER = struct.Struct(">BBhBi")  # of an envelope: version, flags, stream, opcode, body length
OPCODES = {0x00: "ERROR", 0x01: "STARTUP", 0x02: "READY", 0x03: "AUTHENTICATE", 0x05: "OPTIONS",
           0x06: "SUPPORTED", 0x07: "QUERY", 0x08: "RESULT", 0x09: "PREPARE", 0x0A: "EXECUTE",
           0x0B: "REGISTER", 0x0C: "EVENT", 0x0D: "BATCH", 0x0F: "AUTH_RESPONSE",
           0x10: "AUTH_SUCCESS"}
EVENT_STREAM = -1
TRAILER_BYTES = 4                 # a frame's checksum
CHUNK_BYTES = 1 << 16
POLL_S = 0.1                      # in which stop() is heard
NO_LINGER = struct.pack("ii", 1, 0)  # close() sends RST


class Act(Enum):
    """What becomes of the frame, and of its connection."""
    PASS = "pass"
    SWALLOW = "swallow"          # the frame alone is lost
    RESET = "reset"              # the frame is lost, both ends get an RST
    TRUNCATE = "truncate"        # half of the frame goes through, then both ends are closed
    BLACK_HOLE = "black hole"    # from this frame on nothing goes through; both ends stay open


@dataclass
class Fault:
    """Once: at the frame that holds number `number` of its kind."""
    side: str                    # "request" or "reply"
    kind: str                    # opcode of the request
    number: int
    act: Act = Act.PASS
    before: Optional[Callable] = None  # called before the frame is passed or kept; all waits
    after: Optional[Callable] = None   # called once it was
    happened: threading.Event = field(default_factory=threading.Event)

    def __str__(self):
        return f"{self.act.value} at {self.side} {self.number} of {self.kind}"


@dataclass
class Frame:
    raw: bytes
    heads: list                  # (version, stream, opcode, body) of each envelope that begins here


def unpack_lz4(block, size):
    """An LZ4 block that unpacks to `size` bytes."""
    out = bytearray()
    at = 0

    def length(first):
        nonlocal at
        total = first
        while first == 15:
            more = block[at]
            at += 1
            total += more
            if more != 255:
                break
        return total

    while at < len(block):
        token = block[at]
        at += 1
        literals = length(token >> 4)
        out += block[at:at + literals]
        at += literals
        if at >= len(block):
            break
        distance = block[at] | block[at + 1] << 8
        at += 2
        matched = 4 + length(token & 15)
        begin = len(out) - distance
        for place in range(begin, begin + matched):  # it may overlap with what it makes
            out.append(out[place])
    if len(out) != size:
        raise ValueError("a packed frame has another length than it says")
    return bytes(out)


class FrameReader:
    """Cuts one direction of a connection into frames."""

    def __init__(self):
        self.buffer = b""
        self.is_framed = False
        self.is_packed = False
        self.body_left = 0  # of an envelope that goes on in the next frame

    def feed(self, chunk):
        """The frames that are whole now, one at a time: what one holds may change the form."""
        self.buffer += chunk
        while True:
            frame = self._framed() if self.is_framed else self._bare()
            if frame is None:
                return
            self.buffer = self.buffer[len(frame.raw):]
            yield frame

    def _bare(self):
        if len(self.buffer) < HEADER.size:
            return None
        version, _, stream, opcode, length = HEADER.unpack_from(self.buffer)
        end = HEADER.size + length
        if len(self.buffer) < end:
            return None
        body = self.buffer[HEADER.size:end]
        return Frame(self.buffer[:end], [(version & 0x7F, stream, opcode, body)])

    def _framed(self):
        head_bytes = 5 if self.is_packed else 3
        if len(self.buffer) < head_bytes + 3:
            return None
        bits = int.from_bytes(self.buffer[:head_bytes], "little")
        sent = bits & 0x1FFFF
        unpacked = bits >> 17 & 0x1FFFF if self.is_packed else 0
        begin = head_bytes + 3
        end = begin + sent + TRAILER_BYTES
        if len(self.buffer) < end:
            return None
        payload = self.buffer[begin:begin + sent]
        if unpacked:
            payload = unpack_lz4(payload, unpacked)
        return Frame(self.buffer[:end], self._heads(payload))

    def _heads(self, payload):
        heads = []
        at = min(self.body_left, len(payload))
        self.body_left -= at
        while at < len(payload):
            version, _, stream, opcode, length = HEADER.unpack_from(payload, at)
            at += HEADER.size
            heads.append((version & 0x7F, stream, opcode, payload[at:at + length]))
            self.body_left = max(0, at + length - len(payload))
            at += length
        return heads


class Link:
    """A client's connection and ours to the node, pumped by one thread."""

    def __init__(self, proxy, client, node):
        self.proxy = proxy
        self.client = client
        self.node = node
        self.readers = {"request": FrameReader(), "reply": FrameReader()}
        self.asked = {}       # stream -> kind of the request
        self.is_dark = False

    def pump(self):
        sides = {self.client: ("request", self.node), self.node: ("reply", self.client)}
        while not self.proxy.is_stopped:
            ready, _, _ = select.select(list(sides), [], [], POLL_S)
            for source in ready:
                side, target = sides[source]
                chunk = source.recv(CHUNK_BYTES)
                if not chunk:
                    if self.is_dark and source is self.node:
                        del sides[source]  # nor does the client hear of this
                        continue
                    return
                for frame in self.readers[side].feed(chunk):
                    if not self.is_dark and not self._handle(side, frame, target):
                        return

    def _handle(self, side, frame, target):
        """False: the connection is over."""
        kinds = [self._kind(side, *head) for head in frame.heads]
        kinds += ["ERROR" for _, _, opcode, _ in frame.heads if OPCODES.get(opcode) == "ERROR"]
        fault = self.proxy.note(side, kinds)
        if self.proxy.is_plain and "OPTIONS" in kinds and side == "reply":
            frame.raw = frame.raw.replace(b"\x00\x03lz4", b"\x00\x03---")
        if fault is None:
            target.sendall(frame.raw)
            return True
        fault.happened.set()  # passing it on fails where one end was killed for it
        if fault.before:
            fault.before()
        self._act(fault.act, frame.raw, target)
        if fault.after:
            fault.after()
        return fault.act not in (Act.RESET, Act.TRUNCATE)

    def _act(self, act, raw, target):
        if act is Act.PASS:
            target.sendall(raw)
        elif act is Act.TRUNCATE:
            target.sendall(raw[:len(raw) // 2])
        elif act is Act.BLACK_HOLE:
            self.is_dark = True
        elif act is Act.RESET:
            for end in (self.client, self.node):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)

    def _kind(self, side, version, stream, opcode, body):
        name = OPCODES.get(opcode, hex(opcode))
        if side == "request":
            self.asked[stream] = name
            if name == "STARTUP":
                for reader in self.readers.values():
                    reader.is_packed = version >= 5 and b"\x00\x03lz4" in body
                self.readers["request"].is_framed = version >= 5
            return name
        if name in ("READY", "AUTHENTICATE"):
            self.readers["reply"].is_framed = version >= 5
        return "EVENT" if stream == EVENT_STREAM else self.asked.pop(stream, name)


class FaultProxy:
    """Listens on a port of its own of 127.0.0.1 until stop()."""

    def __init__(self, address, port, faults=(), plain=False):
        """plain: the client is not told that the node has LZ4."""
        self.upstream = (address, port)
        self.faults = list(faults)
        self.is_plain = plain
        self.is_stopped = False
        self.counts = Counter()      # (side, kind or "FRAME") -> how many passed by
        self.links = 0               # connections that clients made
        self.upstream_ports = set()  # our ends of the connections to the node
        self.errors = []             # what was wrong with the proxy itself
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(POLL_S)
        self.port = self.listener.getsockname()[1]
        self.threads = [threading.Thread(target=self._accept, daemon=True)]
        self.threads[0].start()

    @property
    def contact(self):
        return f"127.0.0.1:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.is_stopped = True
        for thread in self.threads:
            thread.join()
        self.listener.close()

    def note(self, side, kinds):
        """Counts the kinds of a frame; the fault that is due at it, or None."""
        with self.lock:
            due = None
            self.counts[side, "FRAME"] += 1
            for kind in kinds:
                self.counts[side, kind] += 1
                for fault in self.faults:
                    if (fault.side, fault.kind, fault.number) == (side, kind,
                                                                  self.counts[side, kind]):
                        due = due or fault
            return due

    def _accept(self):
        while not self.is_stopped:
            try:
                client, _ = self.listener.accept()
            except TimeoutError:
                continue
            self.links += 1
            thread = threading.Thread(target=self._serve, args=(client,), daemon=True)
            self.threads.append(thread)
            thread.start()

    def _serve(self, client):
        with contextlib.ExitStack() as stack:
            stack.enter_context(client)
            try:
                node = stack.enter_context(socket.create_connection(self.upstream, timeout=10))
            except OSError:
                return  # the node is away: so are we
            for end in (client, node):
                end.settimeout(None)
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.upstream_ports.add(node.getsockname()[1])
            try:
                Link(self, client, node).pump()
            except OSError:
                pass  # one end is gone: the other one is told so by our close
            except Exception as error:  # pylint: disable=broad-except
                self.errors.append(repr(error))
