"""What one planted bug is."""
from typing import NamedTuple

ENGINE = ('tests/engine/engine_parts_test',)


class Bug(NamedTuple):
    name: str
    file: str
    line: str     # as it is
    planted: str  # as it would be
    tests: str    # that are to fail, at least one of them
    programs: tuple[str, ...] = ENGINE  # that have them
