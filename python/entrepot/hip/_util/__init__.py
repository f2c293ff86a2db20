"""Where HIP Python's documentation has its adapter types: ``hip._util.types``."""
