"""Process in which a target is checked: ``python -m entrepot.check.worker`` reads a request and
answers through a pipe.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from .runner import Request, serve


def main() -> None:
    order = json.load(sys.stdin)
    sys.path[:] = order["path"]
    words: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in order["request"].items()
    }
    request = Request(**words)

    def say(line: dict[str, Any]) -> None:
        os.write(order["pipe"], json.dumps(line).encode() + b"\n")

    serve(request, order["done"], say)
    # All results have been sent. Skips cleanup, in which the target could still crash, hang or
    # print.
    os._exit(0)


if __name__ == "__main__":
    main()
