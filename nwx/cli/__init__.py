"""The commands; importing this package makes the garbage collector run less often."""

import gc

_ALLOCATIONS = 100_000
"""The number of allocations between two runs of the garbage collector."""

gc.set_threshold(_ALLOCATIONS)  # makes loading modules 10 % faster, those below included
