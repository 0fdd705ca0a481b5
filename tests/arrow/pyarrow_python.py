"""A Python that has pyarrow, the reader that is independent of Cistern.

From PyPI, as Debian 12 has none; in a virtual environment of the user's cache.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from python_packages import SetupError, python_with, user_cache  # noqa: E402

PYARROW_VERSION = "26.0.1"
SKIP = 77  # what meson takes for a skipped test
INSTALL_S = 500  # each step; below the time limit of the test


def pyarrow_python():
    directory = user_cache()
    directory.mkdir(parents=True, exist_ok=True)
    return python_with(
        [f"pyarrow=={PYARROW_VERSION}"], "import pyarrow", directory / f"pyarrow-{PYARROW_VERSION}",
        lambda: print(f"installing pyarrow {PYARROW_VERSION} from PyPI: 55 MB, 190 MB unpacked "
                      "(once)", flush=True),
        INSTALL_S)


def run_with_pyarrow(script):
    """Begins the script anew with that Python. Without one it ends: badly, where CI=true."""
    try:
        python = pyarrow_python()
    except (SetupError, OSError) as error:
        print(error, file=sys.stderr)
        print("LEFT OUT pyarrow: what is exported to Arrow was read by nobody", flush=True)
        sys.exit(1 if os.environ.get("CI") == "true" else SKIP)
    os.execv(python, [python, script, *sys.argv[1:]])
