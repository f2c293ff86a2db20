"""``kernel.export(path)``: exports a kernel as a self-contained C++ header, for programs without
Python.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from .._core import Dtype, KernelError
from .source import shown_path

_OWN_LINES = "@own lines\n"

_HEADER = """\
// The kernel {name}, for C++17: launch_{name}() runs it on the host.
// Written by entrepot.kernel; compile with -O3 -march=native
// {options}
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {name}_kernel {{

{source}
}}  // namespace {name}_kernel
@own lines
// Extents and strides are in elements, sizes of local memory in bytes. The pointer to a field of an
// array of structs is to that of the first struct.
// An array that is written overlaps no other.
// The work-items are spread over `threads` threads (0: as many as there are processors), and all is
// done when it returns.
// Throws std::invalid_argument for a local range that does not divide the global one.
inline void launch_{name}({signature}, unsigned threads = 0) {{
    long long range[12] = {{{dimensions}, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1}};
    long long group = 1, groups = 1;
    for (std::size_t axis = 0; axis < {dimensions}; ++axis) {{
        const long long items = {local};
        if (items < 1 || global[axis] < 0 || global[axis] % items != 0)
            throw std::invalid_argument(
                "launch_{name}: the local range does not divide the global range");
        range[1 + axis] = global[axis];
        range[4 + axis] = items;
        range[7 + axis] = global[axis] / items;
        group *= items;
        groups *= range[7 + axis];
    }}
    const auto run = [&](long long first, long long last) {{
        // Blocks are aligned to 64 bytes, as vectors of the processor may need.
        const auto aligned = [](std::vector<std::byte> &block, std::size_t bytes) -> void * {{
            block.resize(bytes + 64);
            return block.data() + (64 - reinterpret_cast<std::uintptr_t>(block.data()) % 64) % 64;
        }};
        [[maybe_unused]] std::vector<std::byte> blocks[{blocks}];
        (void)aligned;
        (void)group;
        void *const arguments[] = {{{arguments}}};
        long long part[12];
        for (std::size_t i = 0; i < 12; ++i)
            part[i] = range[i];
        part[10] = first;
        part[11] = last;
        {name}_kernel::{name}(part, arguments);
    }};
    if (threads == 0)
        threads = std::thread::hardware_concurrency();
    if (threads == 0)
        threads = 1;
    const long long shares = groups < threads ? groups : threads;
    std::vector<std::thread> others;
    for (long long number = 1; number < shares; ++number)
        others.emplace_back(run, groups * number / shares, groups * (number + 1) / shares);
    if (shares != 0)
        run(0, groups / shares);
    for (std::thread &other : others)
        other.join();
}}
"""


def export(path: str, translation: dict[str, Any]) -> None:
    """Writes the header for a kernel in the host's dialect. Raises KernelError for arguments that
    C++ has no type for.
    """
    text = _text_of(translation)
    # Lines after the kernel belong to the header again, not to the Python file.
    before, _, after = text.partition(_OWN_LINES)
    shown = re.sub(
        r'[\x00-\x1f\x7f"\\?]', "_", shown_path(Path(path).name)
    )  # as in the #line directives of the kernel
    line = f'#line {before.count(chr(10)) + 2} "{shown}"\n'
    Path(path).write_text(before + line + after, encoding="utf-8")


def _text_of(translation: dict[str, Any]) -> str:
    name = translation["name"]
    dimensions = translation["dimensions"]
    source = re.sub(
        r'^extern "C" const ', "inline const ", translation["source"], flags=re.MULTILINE
    )
    source = re.sub(r'^extern "C" void ', "inline void ", source, flags=re.MULTILINE)
    names = _names_of(translation["arguments"])
    declared = [f"const std::array<std::int64_t, {dimensions}> &global"]
    if translation["uses_groups"]:
        declared.append(f"const std::array<std::int64_t, {dimensions}> &local")
    given, blocks = [], 0
    for what, argument, dimension, dtype in translation["parameters"]:
        of = names[argument] if argument < len(names) else ""
        if what == "pointer":
            const = "" if translation["written"][argument] else "const "
            declared.append(f"{const}{_c_type(dtype) or 'void'} *{of}")
            given.append(f"const_cast<void *>(static_cast<const void *>({of}))")
        elif what in ("extent", "stride"):
            declared.append(f"std::int64_t {of}_{what}{dimension}")
            given.append(f"const_cast<std::int64_t *>(&{of}_{what}{dimension})")
        elif what == "value":
            word = _c_type(dtype)
            if not word:
                raise KernelError(
                    f"argument {of!r} is a {dtype}, and C++17 has no such number: export kernels "
                    "of other scalars"
                )
            declared.append(f"{word} {of}")
            given.append(f"const_cast<{word} *>(&{of})")
        elif what == "local":
            declared.append(f"std::size_t {of}_bytes")
            given.append(f"aligned(blocks[{blocks}], {of}_bytes)")
            blocks += 1
        elif what == "scratch":
            given.append(
                f"aligned(blocks[{blocks}], {dimension} * static_cast<std::size_t>(group))"
            )
            blocks += 1
        elif what == "arrivals":
            raise KernelError(
                f"kernel {name!r} has grid barriers, and C++ launches a kernel group by group: "
                "export a kernel without them"
            )
        else:
            raise KernelError(
                f"kernel {name!r} was made with debug=True, whose reports C++ cannot read: export "
                "it without"
            )
    private = re.search(rf"{name}_private = (\d+)", source)
    if private:
        given.append(f"aligned(blocks[{blocks}], {private[1]} * static_cast<std::size_t>(group))")
        blocks += 1
    return _HEADER.format(
        name=name,
        options=translation["options"],
        source=source.rstrip(),
        signature=", ".join(declared),
        dimensions=dimensions,
        local="local[axis]" if translation["uses_groups"] else "1",
        blocks=max(blocks, 1),
        arguments=", ".join(given) or "nullptr",
    )


def _names_of(arguments: tuple[str, ...]) -> list[str]:
    """Names of parameters in C++: a field of a struct, ``p.x``, is ``p_x``."""
    names: list[str] = []
    for argument in arguments:
        name = argument.replace(".", "_")
        while name in names or (name != argument and name in arguments):
            name += "_"
        names.append(name)
    return names


def _c_type(dtype: Dtype) -> str:
    """The C++17 type of that dtype; empty if there is no such type."""
    if re.fullmatch(r"u?int\d+", dtype.name):
        return f"std::{dtype.name}_t"
    return {"bool": "bool", "float32": "float", "float64": "double"}.get(dtype.name, "")
