"""``python -m entrepot.numba_cuda``: numba.cuda's names that are served, and their share."""

import sys

from .names import page, summary

if __name__ == "__main__":
    sys.stdout.write(page() + "\n" if "--page" in sys.argv[1:] else "")
    print(summary())
