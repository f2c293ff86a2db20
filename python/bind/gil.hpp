// The GIL given up for as long as a scope lasts: around everything that waits for a device or moves many bytes.
#pragma once
#include <Python.h>

namespace entrepot::python {

class ReleaseGil {
  public:
    ReleaseGil() noexcept : state_(PyEval_SaveThread()) {}
    ~ReleaseGil() { PyEval_RestoreThread(state_); }
    ReleaseGil(const ReleaseGil &) = delete;
    ReleaseGil &operator=(const ReleaseGil &) = delete;

  private:
    PyThreadState *state_;
};

template <class Body> auto without_gil(Body &&body) {
    const ReleaseGil released;
    return body();
}

}  // namespace entrepot::python
