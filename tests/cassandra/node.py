"""One Cassandra node: its generated configuration, its command line, its process."""

import json
import os
import signal
from pathlib import Path

from assemble import jar_directory, java
from certificates import write_secret
from patience import patience_s
from process import Process

# What Cassandra's own conf/jvm17-server.options lists: packages that it reaches into.
EXPORTS = """
    java.base/jdk.internal.misc java.management.rmi/com.sun.jmx.remote.internal.rmi
    java.management/com.sun.jmx.remote.security java.rmi/sun.rmi.registry
    java.rmi/sun.rmi.server java.sql/java.sql java.base/java.lang.ref jdk.unsupported/sun.misc
""".split()
OPENS = """
    java.base/java.lang.module java.base/jdk.internal.loader java.base/jdk.internal.ref
    java.base/jdk.internal.reflect java.base/jdk.internal.math java.base/jdk.internal.module
    java.base/jdk.internal.util.jar jdk.management/com.sun.management.internal
    java.base/sun.nio.ch java.base/java.io java.base/java.lang.reflect java.base/java.lang
    java.base/java.util java.base/java.nio
""".split()
RING_SIZE = 2**64
# A node that is no seed gives up when it has reached no other for twice this time: long enough for
# a busy machine. The seed itself would wait as long for others that are down, and must not.
SEED_WAIT_MS = 120_000
SUPERUSER_RETRY_MS = 1000  # three nodes need a quorum first; one has its superuser at once

LOGBACK = """<configuration>
  <appender name="OUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%-5level [%thread] %date{ISO8601} %F:%L - %msg%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="OUT"/></root>
</configuration>
"""


class Node:
    """Node `number` (1, 2, 3) of the cluster in `directory`, listening on 127.0.0.<number>."""

    def __init__(self, directory, number, options):
        """options: what cluster.json holds, see cluster.py."""
        self.number = number
        self.address = f"127.0.0.{number}"
        self.port = options["port"]
        self.options = options
        self.cluster_directory = Path(directory)
        self.directory = self.cluster_directory / f"node{number}"
        self.log = self.directory / "cassandra.log"
        self.process = Process(self.directory / "process.json")

    def _settings(self):
        """cassandra.yaml as a mapping. Keys that Cassandra does not know would be refused."""
        nodes = self.options["nodes"]
        token = -RING_SIZE // 2 + RING_SIZE * self.number // (nodes + 1)
        seed = f"127.0.0.1:{self.options['storage_port']}"
        settings = {
            "cluster_name": "cistern-test",
            "num_tokens": 1,  # equal shares of the ring: who holds what can be foretold
            "initial_token": str(token),
            "partitioner": "org.apache.cassandra.dht.Murmur3Partitioner",
            "endpoint_snitch": "SimpleSnitch",
            "seed_provider": [{"class_name": "org.apache.cassandra.locator.SimpleSeedProvider",
                               "parameters": [{"seeds": seed}]}],
            "listen_address": self.address,
            "rpc_address": self.address,
            "storage_port": self.options["storage_port"],
            "native_transport_port": self.port,
            "auto_bootstrap": False,
            "commitlog_sync": "periodic",
            "commitlog_sync_period": "10000ms",
            "commitlog_segment_size": "32MiB",
            "commitlog_disk_access_mode": "legacy",  # mapped: written rows outlive a kill -9
            "hinted_handoff_enabled": False,
            "auto_snapshot": False,
            "incremental_backups": False,
            "cdc_enabled": False,
            "storage_compatibility_mode": self.options["compatibility"].upper(),
            "uuid_sstable_identifiers_enabled": False,
            "concurrent_reads": 8,
            "concurrent_writes": 8,
            "memtable_flush_writers": 1,
            "concurrent_compactors": 1,
        }
        if self.options["rate_limit"] is not None:
            settings["native_transport_rate_limiting_enabled"] = True
            settings["native_transport_max_requests_per_second"] = self.options["rate_limit"]
        if self.options["password"]:
            validity = f"{self.options['auth_validity_ms']}ms"
            settings |= {"authenticator": "PasswordAuthenticator",
                         "authorizer": "CassandraAuthorizer",
                         "role_manager": "CassandraRoleManager",
                         # At 0 a changed password or permission counts at once.
                         "credentials_validity": validity, "roles_validity": validity,
                         "permissions_validity": validity}
        if self.options["tls"]:
            keystore = self.cluster_directory / "tls" / "server.p12"
            password = Path(f"{keystore}.password").read_text(encoding="utf-8").strip()
            settings["client_encryption_options"] = {
                "enabled": True, "optional": False, "keystore": str(keystore),
                "keystore_password": password, "store_type": "PKCS12",
                "require_client_auth": False}
        return settings

    def _properties(self):
        """The system properties of the JVM."""
        several = self.options["nodes"] > 1
        return {
            "cassandra.config": (self.directory / "cassandra.yaml").as_uri(),
            "cassandra.storagedir": self.directory / "data",
            "cassandra.logdir": self.directory,
            "cassandra.triggers_dir": self.directory / "triggers",
            "logback.configurationFile": self.directory / "logback.xml",
            "java.io.tmpdir": self.directory / "tmp",
            "cassandra-foreground": "yes",
            # No waiting for a ring that is known to be small and near.
            "cassandra.ring_delay_ms": SEED_WAIT_MS if self.number > 1 else 1000,
            "cassandra.skip_wait_for_gossip_to_settle": 0,
            "cassandra.superuser_setup_delay_ms": SUPERUSER_RETRY_MS if several else 0,
            "cassandra.system_auth.default_rf": self.options["nodes"],
            "cassandra.auth_bcrypt_gensalt_log2_rounds": 4,
            "cassandra.shutdown_announce_in_ms": 0,
            # What a killed process wrote in its last moments is lost; README.md tells more.
            "cassandra.skip_sync": "true",
            "cassandra.size_recorder_interval": 0,
            "chronicle.analytics.disable": "true",
            "jdk.attach.allowAttachSelf": "true",
            "java.net.preferIPv4Stack": "true",
            "io.netty.tryReflectionSetAccessible": "true",
            "io.netty.allocator.useCacheForAllThreads": "true",
            "io.netty.allocator.maxOrder": 11,
        }

    def command(self):
        """The command line. It holds no secret: those stand in cassandra.yaml."""
        jars = jar_directory()
        heap = self.options["heap_mib"]
        command = [java(), "-ea", "-da:net.openhft...", f"-Xmx{heap}m", "-Xss256k",
                   "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError", "-XX:+PerfDisableSharedMem"]
        # Cassandra's own start script takes all of the heap at once; a test has no use for it.
        command += ([f"-Xms{heap}m"] if self.options["optimize"]
                    else ["-Xms128m", "-XX:TieredStopAtLevel=1"])
        for package in EXPORTS:
            command += ["--add-exports", f"{package}=ALL-UNNAMED"]
        for package in OPENS:
            command += ["--add-opens", f"{package}=ALL-UNNAMED"]
        command.append(f"-javaagent:{next(jars.glob('jamm-*.jar'))}")
        command += [f"-D{name}={value}" for name, value in self._properties().items()]
        return command + ["-cp", f"{jars}/*", "org.apache.cassandra.service.CassandraDaemon"]

    def start(self, tied):
        """Starts the process on the data that is there; tied: it dies with this process."""
        for name in ("tmp", "triggers"):
            (self.directory / name).mkdir(parents=True, exist_ok=True)
        # JSON is YAML. The file holds the password of the key store: for its owner only.
        write_secret(self.directory / "cassandra.yaml", json.dumps(self._settings(), indent=1))
        (self.directory / "logback.xml").write_text(LOGBACK, encoding="utf-8")
        # Few arenas of malloc: many threads would each keep tens of megabytes.
        environment = {**os.environ, "MALLOC_ARENA_MAX": "2"}
        self.process.start(self.command(), environment, self.log, tied)

    def ask_to_stop(self):
        """Asks it to drain and to end; process.wait() tells when it has."""
        # One that is suspended hears the request when it goes on.
        self.process.send(signal.SIGTERM, signal.SIGCONT)

    def kill(self):
        self.process.send(signal.SIGKILL)
        return self.process.wait(patience_s(60))

    def log_tail(self, lines=30):
        try:
            text = self.log.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return "(no log)"
        return "\n".join(text.splitlines()[-lines:])
