"""The Python driver for Apache Cassandra, the client that is independent of Cistern.

PyPI's 3.29 is used rather than Debian's python3-cassandra 3.25: it is the same release on every
machine, needs no root, follows the fixes of protocol v5 since (3.25 was the first to have it), and
3.25 needs asyncore, which Python 3.12 no longer has. Debian's package is taken where PyPI cannot
be reached and the package is there.
"""

import subprocess
import sys

from assemble import say
from cache import SetupError, cache_directory
from patience import patience_s
from python_packages import python_with

DRIVER_VERSION = "3.29.3"
PACKAGES = [f"cassandra-driver=={DRIVER_VERSION}", "geomet==1.1.0", "click==8.5.1"]
IMPORT = "import cassandra.cluster"


def imports_driver(python):
    done = subprocess.run([python, "-c", IMPORT], capture_output=True, check=False)
    return done.returncode == 0


def driver_python():
    """Path of a Python that has the driver."""
    def tell():
        say(f"installing the Python driver {DRIVER_VERSION} from PyPI: 3.8 MB, 30 MB unpacked "
            "(once)")

    try:
        return python_with(PACKAGES, IMPORT, cache_directory() / f"driver-{DRIVER_VERSION}", tell,
                           patience_s(900))
    except SetupError as error:
        if imports_driver(sys.executable):
            say(f"{error}\nusing Debian's python3-cassandra instead")
            return sys.executable
        raise
