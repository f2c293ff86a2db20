"""The nine rules that docs/kernels/language.md gives, as far as no other file has them: what is compiled, and what that says."""

from __future__ import annotations

import re

import numpy as np
import pytest

import entrepot as ep
import entrepot.kernel as dppy
from kernel.backends import every_backend, every_compiler

pytestmark = pytest.mark.numpy


@dppy.kernel
def guarded(out, n):
    i = dppy.get_global_id(0)
    shared = dppy.local.array(4, dppy.int32)
    shared[dppy.get_local_id(0)] = i
    dppy.barrier()
    if i < n:
        out[i] = shared[3 - dppy.get_local_id(0)]


@every_backend
def test_rule_4_no_work_item_is_left_out_before_a_barrier(backend):
    """A kernel that guards its writes itself, with a range that is a multiple of the group."""
    (out,) = backend.run(guarded, 8, 4, np.full(6, -1, "i4"), 6)
    assert out.tolist() == [3, 2, 1, 0, 7, 6]


@pytest.mark.host
def test_rule_8_errors_say_where():
    @dppy.kernel
    def wrong(a):
        i = dppy.get_global_id(0)
        a[i] = nowhere  # noqa: F821

    with ep.device_context("host"), pytest.raises(ep.KernelError) as error:
        wrong[4](np.zeros(4, "f4"))
    place, source, caret = str(error.value).splitlines()[:3]
    assert re.match(r".*test_rules\.py:\d+: ", place)
    assert "nowhere" in place
    assert source.strip().startswith("a[i] = nowhere")
    assert caret.index("^") == source.index("nowhere")
    assert caret.strip() == "^" * len("nowhere")


@dppy.kernel
def over_the_end(a, by):
    i = dppy.get_global_id(0)
    a[i + by] = 1


@every_compiler
def test_rule_9_bounds_are_checked_in_debug_mode(backend):
    array = backend.array(np.zeros(4, "f4"))
    checked = over_the_end.options(debug=True)
    backend.launch(checked, 4, None, array, 0)
    with pytest.raises(
        IndexError, match=r"test_rules\.py:\d+: index (4|5|6|7) is out of bounds .* 4 elements, in work-item \([0-3], 0, 0\)"
    ):
        backend.launch(checked, 4, None, array, 4)


@dppy.kernel
def at_nine(a):
    a[9] = 1


@every_compiler
def test_rule_9_constant_indices_are_checked_too(backend):
    with pytest.raises(IndexError, match=r"index 9 is out of bounds .* 4 elements"):
        backend.launch(at_nine.options(debug=True), 1, None, backend.array(np.zeros(4, "f4")))


@every_compiler
def test_the_source_can_be_read(backend):
    source = over_the_end.source(backend.dialect, signature="void(float32[::1], int64)")
    assert "over_the_end" in source
    assert re.search(r"#line \d+ .*test_rules\.py", source)
