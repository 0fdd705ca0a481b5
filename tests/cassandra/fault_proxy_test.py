#!/usr/bin/env python3
"""The proxy of kill_points_test.py before a node that only echoes: what it counts and breaks."""

import socket
import struct
import sys
import threading
import unittest

sys.dont_write_bytecode = True
from fault_proxy import HEADER, Act, Fault, FaultProxy, FrameReader, unpack_lz4  # noqa: E402
from patience import patience_s  # noqa: E402

QUERY, BATCH, STARTUP, READY = 0x07, 0x0D, 0x01, 0x02
TIMEOUT_S = patience_s(30)
SILENCE_S = 0.3  # in which nothing may come


def envelope(opcode, body=b"", stream=1, version=5):
    return HEADER.pack(version, 0, stream, opcode, len(body)) + body


def frame(payload, is_whole=True):
    head = (len(payload) | is_whole << 17).to_bytes(3, "little")
    return head + b"crc" + payload + b"crc4"


class FrameReaderTest(unittest.TestCase):
    def opcodes(self, reader, stream, step):
        return [[opcode for _, _, opcode, _ in one.heads]
                for at in range(0, len(stream), step) for one in reader.feed(stream[at:at + step])]

    def test_cut_anywhere(self):
        long = envelope(BATCH, b"x" * 1000)
        framed = frame(envelope(QUERY) + envelope(BATCH, b"abc")) + frame(
            long[:700], False) + frame(long[700:], False) + frame(envelope(QUERY, b"d"))
        for step in (1, 2, 7, 5000):
            self.assertEqual(self.opcodes(FrameReader(), envelope(STARTUP, b"ab") * 2, step),
                             [[STARTUP], [STARTUP]])
            reader = FrameReader()
            reader.is_framed = True
            self.assertEqual(self.opcodes(reader, framed, step),
                             [[QUERY, BATCH], [BATCH], [], [QUERY]])

    def test_packed(self):
        # "abcd", then 4 + 15 + 2 letters from 4 back, then "z": an overlap and a long length.
        block = b"\x4fabcd\x04\x00\x02\x10z"
        unpacked = b"abcd" + (b"abcd" * 6)[:21] + b"z"
        self.assertEqual(unpack_lz4(block, len(unpacked)), unpacked)
        with self.assertRaises(ValueError):
            unpack_lz4(block, 3)
        batch = envelope(BATCH, b"y" * 20)
        payload = b"\xf0" + bytes([len(batch) - 15]) + batch
        head = (len(payload) | len(batch) << 17 | 1 << 34).to_bytes(5, "little")
        plain = envelope(QUERY)
        reader = FrameReader()
        reader.is_framed = reader.is_packed = True
        stream = head + b"crc" + payload + b"crc4"
        stream += (len(plain) | 1 << 34).to_bytes(5, "little") + b"crc" + plain + b"crc4"
        self.assertEqual(self.opcodes(reader, stream, 3), [[BATCH], [QUERY]])


class FaultProxyTest(unittest.TestCase):
    """The node sends each request back as its own answer."""

    def setUp(self):
        self.node = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(self.node.close)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                end, _ = self.node.accept()
            except OSError:
                return
            threading.Thread(target=self.echo, args=(end,), daemon=True).start()

    @staticmethod
    def echo(end):
        with end:
            while True:
                try:
                    end.sendall(end.recv(1 << 16) or end.close())
                except (OSError, TypeError):
                    return

    def connect(self, *faults):
        self.proxy = FaultProxy(*self.node.getsockname(), faults)
        self.addCleanup(self.proxy.stop)
        return self.again()

    def again(self):
        client = socket.create_connection(("127.0.0.1", self.proxy.port), timeout=TIMEOUT_S)
        self.addCleanup(client.close)
        return client

    def ask(self, client, count=1, opcode=BATCH):
        """Sends requests one by one: the bytes of the answers."""
        got = b""
        for stream in range(count):
            client.sendall(envelope(opcode, b"abcdef", stream))
            got += client.recv(1 << 16)
        return got

    def test_counts_and_calls(self):
        called = []
        fault = Fault("reply", "BATCH", 2, before=lambda: called.append("before"),
                      after=lambda: called.append("after"))
        client = self.connect(fault)
        self.assertEqual(len(self.ask(client)), HEADER.size + 6)
        self.assertFalse(called or fault.happened.is_set())
        self.ask(client, 2)
        self.assertTrue(fault.happened.wait(TIMEOUT_S))
        self.ask(self.again(), 1, QUERY)
        self.assertEqual(called, ["before", "after"])
        self.assertEqual(dict(self.proxy.counts), {
            ("request", "BATCH"): 3, ("reply", "BATCH"): 3, ("request", "QUERY"): 1,
            ("reply", "QUERY"): 1, ("request", "FRAME"): 4, ("reply", "FRAME"): 4})
        self.assertEqual(len(self.proxy.upstream_ports), self.proxy.links)
        self.assertEqual(self.proxy.errors, [])

    def silence(self, client):
        client.settimeout(SILENCE_S)
        with self.assertRaises(TimeoutError):
            client.recv(1)
        client.settimeout(TIMEOUT_S)

    def test_swallow(self):
        for side in ("request", "reply"):
            client = self.connect(Fault(side, "BATCH", 2, Act.SWALLOW))
            self.ask(client)
            client.sendall(envelope(BATCH, b"gone", 7))
            self.silence(client)
            self.assertEqual(struct.unpack_from(">h", self.ask(client), 2), (0,))

    def test_reset(self):
        client = self.connect(Fault("request", "BATCH", 1, Act.RESET))
        with self.assertRaises(ConnectionResetError):
            self.ask(client)
        self.assertTrue(self.ask(self.again()))

    def test_truncate(self):
        client = self.connect(Fault("reply", "BATCH", 1, Act.TRUNCATE))
        whole = envelope(BATCH, b"abcdef", 0)
        self.assertEqual(self.ask(client), whole[:len(whole) // 2])
        self.assertEqual(client.recv(1), b"")

    def test_black_hole(self):
        client = self.connect(Fault("request", "BATCH", 1, Act.BLACK_HOLE))
        for _ in range(2):
            client.sendall(envelope(BATCH))
            self.silence(client)
        self.assertTrue(self.ask(self.again()))

    def test_a_node_that_is_away(self):
        client = self.connect()
        self.ask(client)
        self.node.shutdown(socket.SHUT_RDWR)  # the thread that accepts lets go of it
        self.node.close()
        self.assertEqual(self.again().recv(1), b"")


if __name__ == "__main__":
    unittest.main(verbosity=2)
