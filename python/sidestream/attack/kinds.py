"""The table of the kinds of trials, each of which is one module."""

from __future__ import annotations

from .allocations import allocations
from .calls import calls
from .configurations import configurations
from .damage import damage
from .kills import kills
from .limits import limits
from .memory import memory
from .nodes import nodes
from .power import power
from .stops import stops
from .trial import Kind

KINDS: tuple[Kind, ...] = (kills, calls, nodes, power, limits, damage, configurations, stops, memory, allocations)
