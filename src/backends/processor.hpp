// Identity of this machine's processor for keys of code compiled for it: several machines may share
// a cache.
#pragma once
#include <string>

namespace entrepot::backends {

// Properties of the processor that native code depends on. Queried once: each query leaves a
// virtual machine.
const std::string &processor_identity();

}  // namespace entrepot::backends
