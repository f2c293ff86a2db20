// Identity of the processor, by which compiled code is kept.
#include "backends/processor.hpp"
#include <entrepot/core/publish.hpp>

#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#else
#include <fstream>
#endif

namespace entrepot::backends {
namespace {

struct Identity {
    std::string text = ask();

    static std::string ask();
};

std::string Identity::ask() {
    std::string identity;
#if defined(__x86_64__)
    for (const unsigned leaf : {0u, 1u, 7u, 0x80000001u, 0x80000002u, 0x80000003u, 0x80000004u}) {
        unsigned words[4] = {};
        if (__get_cpuid_count(leaf, 0, &words[0], &words[1], &words[2], &words[3]) == 0)
            continue;
        if (leaf == 1)
            words[1] &= 0xff;  // the rest identifies the core
        identity.append(reinterpret_cast<const char *>(words), sizeof words);
    }
#else
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line) && !line.empty();)
        if (!line.starts_with("BogoMIPS"))
            identity += line + '\n';
#endif
    return identity;
}

}  // namespace

const std::string &processor_identity() {
    static constinit FirstUse<Identity> made;  // also in the child of a fork
    return made.get().text;
}

}  // namespace entrepot::backends
