"""Apache Cassandra from Maven Central: a directory of jars, checked one by one.

What else comes from there comes the same way: `home` is the directory of its pom.xml and
jars.sha256.

The names and checksums in jars.sha256 pin every jar, not only the version of the first. Nothing is
fetched when the cache is complete.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from cache import CASSANDRA_VERSION, SetupError, build_once, cache_directory
from patience import patience_s

HERE = Path(__file__).resolve().parent
MAVEN_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
MAVEN_ATTEMPTS = 3  # a registry may be away for a moment
MAVEN_TIMEOUT_S = patience_s(900)
JAVA_VERSION = 17   # Cassandra 5.0 runs on 11 and 17; Debian 12 has 17


def say(text):
    print(text, file=sys.stderr, flush=True)


def pinned_jars(home=HERE):
    """Name of a jar -> its SHA-256."""
    lines = (home / "jars.sha256").read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, name in (line.split() for line in lines)}


def sha256_of(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def wrong_jars(directory, home=HERE):
    """What differs from jars.sha256, as sentences; empty if all is well."""
    pinned = pinned_jars(home)
    present = {path.name for path in directory.glob("*.jar")}
    wrong = [f"{name} is missing" for name in sorted(pinned.keys() - present)]
    wrong += [f"{name} is not in jars.sha256" for name in sorted(present - pinned.keys())]
    wrong += [f"{name} has another checksum than in jars.sha256"
              for name in sorted(present & pinned.keys())
              if sha256_of(directory / name) != pinned[name]]
    return wrong


def has_all_jars(directory, home=HERE):
    """Names only: the checksums were compared before the directory got its name."""
    return directory.is_dir() and pinned_jars(home).keys() <= set(os.listdir(directory))


def run_maven(directory, home, what):
    maven = shutil.which("mvn")
    if maven is None:
        raise SetupError("mvn is missing: tools/install_packages cassandra installs it")
    say(f"fetching {what} here and as much in Maven's own repository (once)")
    log = directory / "maven.log"
    command = [maven, "-B", "-ntp", MAVEN_GOAL, "-DincludeScope=runtime",
               f"-DoutputDirectory={directory}", "-f", str(home / "pom.xml")]
    for attempt in range(1, MAVEN_ATTEMPTS + 1):
        with open(log, "wb") as output:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                  check=False, timeout=MAVEN_TIMEOUT_S)
        if done.returncode == 0:
            log.unlink()
            return
        say(f"Maven failed (attempt {attempt} of {MAVEN_ATTEMPTS})")
    tail = log.read_text(encoding="utf-8", errors="replace").splitlines()[-20:]
    raise SetupError(f"Maven could not fetch {what}:\n  " + "\n  ".join(tail))


def fetch_once(home, name, what):
    """The directory `name` of the cache, with all jars of `home`; fetched if not complete."""
    def build(directory):
        run_maven(directory, home, what)
        wrong = wrong_jars(directory, home)
        if wrong:
            raise SetupError("what Maven fetched is not what jars.sha256 names:\n  "
                             + "\n  ".join(wrong))

    return build_once(cache_directory() / name, lambda directory: has_all_jars(directory, home),
                      build)


def jar_directory():
    """The jars of Apache Cassandra."""
    return fetch_once(HERE, "lib", f"Apache Cassandra {CASSANDRA_VERSION} with Maven: 100 jars, "
                                   "67 MB")


def java_of_version_17(path):
    try:
        done = subprocess.run([path, "-version"], capture_output=True, text=True, check=False)
    except OSError:
        return False
    found = re.search(r'version "(\d+)', done.stderr)
    return found is not None and int(found.group(1)) == JAVA_VERSION


def java():
    """Path of a Java 17: that of JAVA_HOME, of the path, or Debian's."""
    candidates = []
    if os.environ.get("JAVA_HOME"):
        candidates.append(os.path.join(os.environ["JAVA_HOME"], "bin", "java"))
    candidates.append(shutil.which("java"))
    candidates += sorted(map(str, Path("/usr/lib/jvm").glob("java-17-openjdk-*/bin/java")))
    for candidate in candidates:
        if candidate and java_of_version_17(candidate):
            return candidate
    raise SetupError("Java 17 is missing: tools/install_packages cassandra installs it")
