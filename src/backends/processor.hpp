// The processor of this machine, as a part of the keys of code that was compiled for it: a cache may be read on several machines.
#pragma once
#include <string>

namespace entrepot::backends {

// What of the processor code for this very one depends on. Asked once: a virtual machine leaves itself for each such question.
const std::string &processor_identity();

}  // namespace entrepot::backends
