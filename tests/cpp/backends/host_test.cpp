// The host backend: the contract of every backend, and what only the host promises: fork, its compiler, its threads.
#include "backends/contract.hpp"
#include "backends/host/table.hpp"

namespace {

using namespace entrepot::contract;

const Subject &subject() {
    static const Subject host = [] {
        const ep_backend *table = nullptr;
        CONTRACT_OK(entrepot_host_backend(&loader, &table));
        Subject made{table, EP_CPP, {}, {}, {}, false};
        made.indices = R"(
            extern "C" const int indices_arguments = 2;
            extern "C" void indices(const long long *range, void *const *arguments) {
                long long *out = (long long *)arguments[0];
                const long long offset = *(const long long *)arguments[1];
                const int absent = 3 - (int)range[0];
                const long long *global = range + 1, *local = range + 4, *groups = range + 7;
                for (long long group = range[10]; group < range[11]; ++group) {
                    const long long of[3] = {group / (groups[1] * groups[2]), group / groups[2] % groups[1], group % groups[2]};
                    for (long long i = 0; i < local[0]; ++i)
                        for (long long j = 0; j < local[1]; ++j)
                            for (long long k = 0; k < local[2]; ++k) {
                                const long long at[3] = {of[0] * local[0] + i, of[1] * local[1] + j, of[2] * local[2] + k};
                                long long *place = out + 3 * ((at[0] * global[1] + at[1]) * global[2] + at[2]);
                                for (int d = 0; d < 3; ++d)
                                    place[d] = d < absent ? 0 : at[d - absent];
                                place[2] += offset;
                            }
                }
            })";
        made.spin = R"(
            extern "C" const int spin_arguments = 3;
            extern "C" void spin(const long long *, void *const *arguments) {
                long long *out = (long long *)arguments[0];
                const long long steps = *(const long long *)arguments[1], value = *(const long long *)arguments[2];
                unsigned long long x = 1;
                for (long long i = 0; i < steps; ++i)
                    x = x * 6364136223846793005ull + 1442695040888963407ull;
                out[1] = (long long)x;
                out[0] = value;
            })";
        // The barrier lies between the two loops over the work-items.
        made.reverse = R"(
            extern "C" void reverse(const long long *range, void *const *arguments) {
                const int *in = (const int *)arguments[0];
                int *out = (int *)arguments[1], *scratch = (int *)arguments[2];
                const long long items = range[4];
                for (long long group = range[10]; group < range[11]; ++group) {
                    for (long long i = 0; i < items; ++i)
                        scratch[i] = in[group * items + i];
                    for (long long i = 0; i < items; ++i)
                        out[group * items + i] = scratch[items - 1 - i];
                }
            })";
        return made;
    }();
    return host;
}

}  // namespace

ENTREPOT_BACKEND_CONTRACT("host", subject())
