"""Where the server, the driver and the reserved ports are kept between runs."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from python_packages import SetupError, build_once, locked, user_cache  # noqa: E402, F401

CASSANDRA_VERSION = "5.0.8"


def cache_directory():
    """${CISTERN_CASSANDRA_CACHE}, or a directory of ours in the user's cache; made if absent."""
    named = os.environ.get("CISTERN_CASSANDRA_CACHE")
    directory = Path(named) if named else user_cache() / f"cassandra-{CASSANDRA_VERSION}"
    directory.mkdir(parents=True, exist_ok=True)
    return directory.resolve()
