"""`recovery` and `agents.atlas.recovery` are one module in every test, whichever of its two names is asked for."""

import sys

from agents.atlas import recovery

sys.modules.setdefault("recovery", recovery)
