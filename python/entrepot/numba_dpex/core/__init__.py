"""The part of ``numba_dpex.core`` that programs import: exceptions and types."""
