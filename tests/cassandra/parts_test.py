#!/usr/bin/env python3
"""The parts of the server for tests that need no server: cache, jars, ports, values, limits."""

import os
import shutil
import socket
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

sys.dont_write_bytecode = True
import assemble  # noqa: E402
import literals  # noqa: E402
import ports  # noqa: E402
from cache import SetupError, build_once  # noqa: E402
from process import Process  # noqa: E402


class ScratchCase(unittest.TestCase):
    def setUp(self):
        self.scratch = Path(tempfile.mkdtemp(prefix="cistern-cassandra-"))
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)
        environment = mock.patch.dict(os.environ, CISTERN_CASSANDRA_CACHE=str(self.scratch))
        environment.start()
        self.addCleanup(environment.stop)


class CacheTest(ScratchCase):
    @staticmethod
    def is_complete(directory):
        return (directory / "whole").exists()

    def test_two_at_a_time_build_once(self):
        builds = []
        both_wait = threading.Barrier(2)

        def build(directory):
            builds.append(directory)
            (directory / "whole").touch()

        def run():
            both_wait.wait()
            build_once(self.scratch / "it", self.is_complete, build)

        threads = [threading.Thread(target=run) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(builds), 1)

    def test_what_was_interrupted_is_thrown_away(self):
        def fail(directory):
            (directory / "half").touch()
            raise SetupError("the network is away")

        with self.assertRaises(SetupError):
            build_once(self.scratch / "it", self.is_complete, fail)
        self.assertFalse((self.scratch / "it").exists())
        build_once(self.scratch / "it", self.is_complete,
                   lambda directory: (directory / "whole").touch())
        self.assertEqual(os.listdir(self.scratch / "it"), ["whole"])


class JarsTest(ScratchCase):
    def test_every_difference_is_named(self):
        names = {"a-1.jar": "one", "b-1.jar": "two", "c-1.jar": "three"}
        for name, text in names.items():
            (self.scratch / name).write_text(text, encoding="utf-8")
        pins = {name: assemble.sha256_of(self.scratch / name) for name in names}
        with mock.patch.object(assemble, "pinned_jars", lambda _: pins):
            self.assertEqual(assemble.wrong_jars(self.scratch), [])
            self.assertTrue(assemble.has_all_jars(self.scratch))
            (self.scratch / "a-1.jar").write_text("another", encoding="utf-8")
            (self.scratch / "b-1.jar").rename(self.scratch / "b-2.jar")
            self.assertEqual(assemble.wrong_jars(self.scratch), [
                "b-1.jar is missing", "b-2.jar is not in jars.sha256",
                "a-1.jar has another checksum than in jars.sha256"])
            self.assertFalse(assemble.has_all_jars(self.scratch))

    def test_one_of_each_that_a_node_needs_is_pinned(self):
        names = assemble.pinned_jars()
        for prefix in ("cassandra-all-5.0.8", "jamm-", "snakeyaml-", "guava-", "logback-classic-"):
            self.assertEqual(sum(name.startswith(prefix) for name in names), 1, prefix)


class PortsTest(ScratchCase):
    def reserve(self, name, **options):
        holder = self.scratch / name
        holder.mkdir(exist_ok=True)
        return holder, ports.reserve(holder, ["127.0.0.1"], **options)

    def test_no_port_is_given_twice(self):
        _, first = self.reserve("a", count=3)
        holder, second = self.reserve("b", count=3)
        self.assertEqual(len({*first, *second}), 6)
        with self.assertRaisesRegex(SetupError, "is taken"):
            self.reserve("c", count=1, wanted=second[0])
        shutil.rmtree(holder)  # a reservation ends with its holder
        self.assertEqual(self.reserve("c", count=1, wanted=second[0])[1], second[:1])
        ports.release(self.scratch / "a")
        self.assertEqual(self.reserve("c", count=1, wanted=first[0])[1], first[:1])

    def test_a_port_of_another_program_is_left_alone(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            with self.assertRaisesRegex(SetupError, "is taken"):
                self.reserve("a", count=1, wanted=other.getsockname()[1])


class ProcessTest(ScratchCase):
    def test_a_stranger_with_the_same_number_is_left_alone(self):
        process = Process(self.scratch / "process.json")
        self.assertEqual(process.state(), "stopped")
        process.start(["sleep", "1000"], dict(os.environ), self.scratch / "log", tied=True)
        self.addCleanup(process.send, 9)
        self.assertEqual(process.state(), "running")
        stranger = Process(self.scratch / "stranger.json")
        stranger.record.write_text(f'{{"pid": {process.pid()}, "start_ticks": "1"}}',
                                   encoding="utf-8")
        self.assertEqual(stranger.state(), "stopped")
        self.assertFalse(stranger.send(9))
        self.assertEqual(process.state(), "running")
        process.send(9)
        self.assertTrue(process.wait(60))
        self.assertEqual(process.state(), "stopped")


def kind(name, *subtypes):
    return SimpleNamespace(typename=name, subtypes=subtypes)


class LiteralsTest(unittest.TestCase):
    def test_times(self):
        for millis, text in ((0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
                             (literals.MILLIS_MIN, "0001-01-01T00:00:00.000Z"),
                             (literals.MILLIS_MAX, "9999-12-31T23:59:59.999Z"),
                             (literals.MILLIS_MIN - 1, "-62135596800001")):
            self.assertEqual(literals.literal(millis, kind("timestamp")), text)
        for days, text in ((19737, "2024-01-15"), (19782, "2024-02-29"), (-719529, "-0001-12-31"),
                           (2**31 - 1, "5881580-07-11"), (-2**31, "-5877641-06-23")):
            self.assertEqual(literals.date(days), text)

    def test_reals(self):
        half = 0.10000000149011612  # what 0.1 is in 32 bits
        self.assertEqual(literals.literal(half, kind("float")), 0.1)
        self.assertEqual(literals.literal(half, kind("double")), half)
        smallest = 2.0**-149
        self.assertEqual(literals.literal(smallest, kind("float")), 1e-45)
        self.assertEqual(literals.literal(float("-inf"), kind("double")), "-Infinity")
        for number, text in ((1e5, "1e+05"), (100.0, "100"), (0.1, "0.1"), (1.5e-7, "1.5e-07"),
                             (-0.0, "-0"), (0.0, "0"), (-12.5, "-12.5"),
                             (0.001, "0.001"), (0.0001, "1e-04"),
                             (1e-5, "1e-05"), (123456789012345680.0, "123456789012345680"),
                             (float("nan"), "NaN")):
            self.assertEqual(literals.number_text(number), text)

    def test_values_inside_collections(self):
        of_map = kind("map", kind("text"), kind("list", kind("boolean")))
        self.assertEqual(literals.literal({"it's": [True, False]}, of_map),
                         "{'it''s': [true, false]}")
        self.assertEqual(literals.cql("it's", "text"), "'it''s'")
        self.assertEqual(literals.cql("0x00", "blob"), "0x00")


if __name__ == "__main__":
    unittest.main()
