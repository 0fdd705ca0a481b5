"""How long to wait for a machine that may be busy with other things."""

import os

NONE_S = 10**6  # of a multiplier of 0: as good as no limit


def patience_s(seconds):
    """The limit times $CISTERN_TIMEOUT_MULTIPLIER, as for every other test; 0 is no limit."""
    multiplier = float(os.environ.get("CISTERN_TIMEOUT_MULTIPLIER") or 1)
    return seconds * multiplier if multiplier > 0 else NONE_S
