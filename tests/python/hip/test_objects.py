"""Streams and events as objects, statuses as exceptions: what there is to know of them without a device."""

from __future__ import annotations

import pickle

import pytest

from entrepot import hip, hiprtc


class TestHandles:
    @pytest.mark.hip_library
    def test_an_event_is_no_stream(self):
        words = r"hipStreamSynchronize\(\) argument 'stream': a ihipStream_t was expected, not a ihipEvent_t"
        with pytest.raises(TypeError, match=words):
            hip.hipStreamSynchronize(hip.hipEvent_t(16))

    @pytest.mark.hip_library
    def test_nor_is_it_as_an_object(self):
        event = hip.Event.__new__(hip.Event)
        event._handle = hip.hipEvent_t(16)
        with pytest.raises(TypeError, match="a ihipStream_t was expected, not a ihipEvent_t"):
            hip.hipStreamSynchronize(event)
        event._handle = None
        with pytest.raises(ValueError, match="this Event is closed"):
            hip.hipEventSynchronize(event)

    @pytest.mark.hip_library
    def test_no_stream_at_all_is_the_default_one(self):
        (status,) = hip.hipStreamSynchronize(None)
        assert isinstance(status, hip.hipError_t)


class TestStatuses:
    def test_success_gives_what_there_is_besides(self):
        success = hip.hipError_t.hipSuccess
        assert hip.hip_check((success,)) == ()
        assert hip.hip_check((success, 1)) == 1
        assert hip.hip_check((success, 1, 2)) == (1, 2)

    @pytest.mark.hip_library
    def test_the_words_are_amd_s(self):
        words = str(hip.hipGetErrorString(hip.hipError_t.hipErrorInvalidValue)[1])
        expected = "hipErrorInvalidValue (1)" + (f": {words}" if words != "hipErrorInvalidValue" else "")
        with pytest.raises(hip.HipError) as caught:
            hip.hip_check((hip.hipError_t.hipErrorInvalidValue,))
        assert str(caught.value) == expected
        assert caught.value.status == hip.hipError_t.hipErrorInvalidValue
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)

    @pytest.mark.hip_library
    def test_a_name_is_said_once(self):
        """Older libraries have nothing but names for words, and one of another status for those that they do not know."""
        names = {*hip.hipError_t.__members__, *hiprtc.hiprtcResult.__members__}
        for status in (*hip.hipError_t, *hiprtc.hiprtcResult):
            name, _, words = str(hip.HipError(status)).partition(": ")
            assert name == f"{status.name} ({int(status)})" and words not in names

    def test_words_that_a_library_has(self, monkeypatch):
        monkeypatch.setattr(hip, "hipGetErrorString", lambda status: (0, "invalid argument"))
        assert str(hip.HipError(hip.hipError_t.hipErrorInvalidValue)) == "hipErrorInvalidValue (1): invalid argument"

    def test_a_library_that_is_not_there(self, monkeypatch):
        def absent(status):
            raise ImportError

        monkeypatch.setattr(hip, "hipGetErrorString", absent)
        assert str(hip.HipError(hip.hipError_t.hipErrorInvalidValue)) == "hipErrorInvalidValue (1)"

    def test_a_status_that_the_header_does_not_know(self):
        with pytest.raises(hip.HipError, match=r"^status 7777$"):
            hip.hip_check((7777,))

    @pytest.mark.parametrize("result", [None, 5, hip.hipError_t.hipSuccess, "text", (), ("text",)], ids=repr)
    def test_what_no_call_returns_is_refused(self, result):
        with pytest.raises(TypeError, match=r"hip_check: what a call of hip or hiprtc returned was expected, .*, not "):
            hip.hip_check(result)


def test_a_star_brings_objects_along():
    from entrepot.hip import objects

    names: dict = {}
    exec("from entrepot.hip import *", names)
    assert {name: names.get(name) for name in objects.__all__} == {name: getattr(objects, name) for name in objects.__all__}
    assert "hipInit" in names
