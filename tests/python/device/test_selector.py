"""Selectors: names of devices, their text, and refusals."""

from __future__ import annotations

import pickle
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import entrepot as ep
import entrepot._core as core


def test_device_string_and_repr_round_trip():
    devices = ep.devices()
    assert str(devices[-1]) == "host"
    for device in devices:
        assert ep.device(str(device)) == device
        assert ep.device(str(device).upper()) == device
        assert eval(repr(device), {"Device": ep.Device}) == device
        assert pickle.loads(pickle.dumps(device)) == device


def test_device_is_accepted_as_a_selector():
    host = ep.device("host")
    assert ep.device(host) == host == ep.Device("host")


@pytest.mark.sycl
@pytest.mark.parametrize(
    "selector", ["opencl:cpu:0", "opencl:cpu", "opencl", "opencl:0", "cpu", "cpu:0", "0", "default"]
)
def test_filter_selector_parts_are_optional(selector):
    assert str(ep.device(selector)) == "opencl:cpu:0"


@pytest.mark.parametrize(
    "selector",
    ["", ":", "opencl::0", "cpu:opencl", "cpu:gpu", "0:cpu", "gpu:1x", "gpu:-1", "metal", " cpu",
        "cpu ", "cpu/", "cpu/x", "/0",
     "cuda:0:1", "99999999999999", "cpu\0", "opencl,level_zero", "ünïcode", "\ud800"],
)  # fmt: skip
def test_malformed_selector_is_a_value_error(selector):
    with pytest.raises(ValueError, match=r"selector|surrogates"):
        ep.device(selector)


@given(st.text(alphabet="opencl:cpugphst0123/,-", max_size=20))
def test_random_selector_finds_a_device_or_is_refused(text):
    try:
        device = ep.device(text)
    except (ValueError, ep.DeviceError):
        return
    assert ep.device(str(device)) == device


@pytest.mark.parametrize("selector", ["hip", "hip:0", "hip:7"])
def test_absent_backend_gives_its_reason(selector):
    reason = {name: None if present else reason for name, present, reason in core.backends()}["hip"]
    if reason is None:
        pytest.skip("HIP devices are here")
    with pytest.raises(
        ep.DeviceError, match=rf"no device matches '{selector}'.*host.*{re.escape(reason)}"
    ):
        ep.device(selector)


def test_unknown_device_number_error_lists_devices():
    with pytest.raises(ep.DeviceError, match=r"there (is|are) .*host"):
        ep.device("1000")


@pytest.mark.parametrize("wrong", [3, 1.5, b"cpu", [], object()])
def test_non_device_is_a_type_error(wrong):
    with pytest.raises(TypeError, match="a device was expected"):
        ep.device(wrong)
