"""Compiles a CUDA C++ file to PTX with NVRTC, and writes it as a C++ file that defines one string.

Usage: cuda_ptx.py LIBNVRTC INPUT.cu OUTPUT.cpp NAMESPACE NAME

The PTX is for compute capability 7.5, the oldest of CUDA 13. The driver compiles it for the device.
"""

from __future__ import annotations

import ctypes
import re
import sys
from pathlib import Path

ARCHITECTURE = "compute_75"
# Newer compilers write their own PTX version, which older drivers refuse, whatever the code uses.
# This version covers compute capability 7.5, and every driver of CUDA 12 accepts it.
PTX_VERSION = "7.0"


def compile_to_ptx(nvrtc: ctypes.CDLL, path: Path) -> str:
    def check(code: int) -> None:
        if code:
            nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
            raise SystemExit(
                f"NVRTC: {nvrtc.nvrtcGetErrorString(code).decode()}\n{text_of('ProgramLog')}"
            )

    def text_of(what: str) -> str:
        size = ctypes.c_size_t()
        getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value)
        getattr(nvrtc, f"nvrtcGet{what}")(program, text)
        return text.value.decode()

    program = ctypes.c_void_p()
    source = path.read_bytes()
    check(
        nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, path.name.encode(), 0, None, None)
    )
    options = [f"--gpu-architecture={ARCHITECTURE}", "--std=c++17", f"--include-path={path.parent}"]
    check(
        nvrtc.nvrtcCompileProgram(
            program, len(options), (ctypes.c_char_p * len(options))(*(o.encode() for o in options))
        )
    )
    return text_of("PTX")


def without_remarks(ptx: str) -> str:
    lines = (line.split("//")[0].rstrip() for line in ptx.splitlines())
    return "\n".join(line for line in lines if line) + "\n"


def literals(text: str) -> str:
    """The text as adjacent string literals, since compilers limit the length of one."""
    lines = (
        line.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
        for line in text.splitlines()
    )
    return "\n".join(f'    "{line}\\n"' for line in lines)


def main(library: str, source: str, output: str, namespace: str, name: str) -> None:
    ptx = without_remarks(compile_to_ptx(ctypes.CDLL(library), Path(source)))
    ptx, found = re.subn(r"^\.version .*$", f".version {PTX_VERSION}", ptx, flags=re.MULTILINE)
    if found != 1:
        raise SystemExit(f"{source}: the PTX names {found} versions")
    Path(output).write_text(
        f"// Generated from {Path(source).name} by {Path(__file__).name}.\n"
        f"namespace {namespace} {{\nextern const char {name}[];\nconst char {name}[] "
        f"=\n{literals(ptx)};\n}}\n"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
