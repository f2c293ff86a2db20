"""Calls every function of a HIP module once, with zeros, NULL and empty records, each in a process
of its own.

Arguments: the name of a module (entrepot.hip, rocm.bindings.hip) and the path of HIP's runtime.
Standard input: a JSON list of [function, [kind of each argument]]. Prints a JSON object of the
outcomes: the status, or the reason for its absence.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import signal
import sys


def argument(module, kind):
    if kind == "number":
        return 0
    if kind == "null":
        return None
    made = getattr(module, kind)
    return made() if hasattr(made, "PROPERTIES") else next(iter(made))


def outcome(module, name, kinds):
    """Status of a call in a child, sent by a pipe; or the signal that killed the child."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            status = getattr(module, name)(*(argument(module, kind) for kind in kinds))[0]
            said = f"status {int(status)}"
        except BaseException as error:
            said = f"{type(error).__name__}: {error}".splitlines()[0]
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read().decode()
    _, ended = os.waitpid(child, 0)
    return said or f"signal {ended & 0x7F}"


if __name__ == "__main__":
    ctypes.CDLL(
        sys.argv[2]
    )  # before there are children: to load it takes each of them longer than its call
    hip = importlib.import_module(sys.argv[1])
    print(json.dumps({name: outcome(hip, name, kinds) for name, kinds in json.load(sys.stdin)}))
