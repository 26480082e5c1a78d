"""Attacks on the programs themselves: what is killed, damaged, limited or absurd, and what has to hold then.

Each kind of trials is one module; here is the table of them.
"""

from __future__ import annotations

from .calls import calls
from .configurations import configurations
from .damage import damage
from .kills import kills
from .limits import limits
from .memory import memory
from .stops import stops
from .trial import Kind

KINDS: tuple[Kind, ...] = (kills, calls, limits, damage, configurations, stops, memory)
