"""Our times and the peers', measured by turns in one run, with the ratio that each pair must reach:
``python -m benchmarks``.
"""
