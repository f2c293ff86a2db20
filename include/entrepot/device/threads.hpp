// How many threads one launch, copy or fill on the host may use.
#pragma once

#pragma GCC visibility push(default)
namespace entrepot {

// Thread safety: both may be called at any time. Work that runs keeps the threads that it has.

// Returns: the limit for the process. At first this is the number of processors that it may use.
unsigned num_threads();
// Throws: ValueError if `count` is 0, or larger than the number of processors.
void set_num_threads(unsigned count);

}  // namespace entrepot
#pragma GCC visibility pop
