"""The part of ``numba_dpex.core.kernel_interface`` (0.21) that programs import."""
