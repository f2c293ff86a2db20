"""Memory resources stack up: the default pool below, a limit on top of it, and counting on top of
that.
"""

import entrepot as ep

counted = ep.memory.statistics(ep.memory.limit(1 << 20))
with ep.memory.use_resource(counted):
    kept = ep.empty(1000, "float64", device="host")
    ep.empty(500, "float64", device="host")
    try:
        ep.empty(1 << 20, "float64", device="host")
    except ep.USMAllocationError as refusal:
        print(refusal)
print(counted)
assert (counted.current_bytes, counted.peak_bytes) == (8000, 12000)
