// hipRAND over cuRAND: kinds of generators have other numbers, statuses the same ones.
#include "library.hpp"

#include <cstddef>
#include <initializer_list>

namespace {

using hip_over_cuda::symbol_of;

// The toolkit's folder, for machines where the loader's search does not find cuRAND.
void *random_library() {
    static void *const library = [] {
        void *found = nullptr;
        for (const char *name :
             {CURAND_PATH, "libcurand.so.10", "/usr/local/cuda/lib64/libcurand.so.10"})
            if (found == nullptr)
                found = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        return found;
    }();
    return library;
}

struct Generator;
constexpr int type_error = 103;

// No package that a build needs has cuRAND's header, so its functions are declared here.
template <class... Arguments> int call(const char *name, Arguments... arguments) {
    return reinterpret_cast<int (*)(Arguments...)>(symbol_of(random_library(), name))(arguments...);
}

// hiprandRngType in curandRngType; -1 if there is no such generator.
int in_curand(int kind) {
    constexpr struct {
        int hip, cuda;
    } kinds[] = {{400, 100}, {401, 101}, {402, 121}, {403, 141}, {404, 142}, {405, 161},
                 {500, 200}, {501, 201}, {502, 202}, {503, 203}, {504, 204}};
    for (const auto &row : kinds)
        if (row.hip == kind)
            return row.cuda;
    return -1;
}

int create(const char *name, Generator **made, int kind) {
    const int theirs = in_curand(kind);
    return theirs < 0 ? type_error : call(name, made, theirs);
}

}  // namespace

HIP_OVER_CUDA int hiprandGetVersion(int *version) { return call("curandGetVersion", version); }
HIP_OVER_CUDA int hiprandCreateGenerator(Generator **made, int kind) {
    return create("curandCreateGenerator", made, kind);
}
HIP_OVER_CUDA int hiprandCreateGeneratorHost(Generator **made, int kind) {
    return create("curandCreateGeneratorHost", made, kind);
}
HIP_OVER_CUDA int hiprandDestroyGenerator(Generator *generator) {
    return call("curandDestroyGenerator", generator);
}
HIP_OVER_CUDA int hiprandSetPseudoRandomGeneratorSeed(Generator *generator,
                                                      unsigned long long seed) {
    return call("curandSetPseudoRandomGeneratorSeed", generator, seed);
}
HIP_OVER_CUDA int hiprandGenerateUniform(Generator *generator, float *to, std::size_t count) {
    return call("curandGenerateUniform", generator, to, count);
}
HIP_OVER_CUDA int hiprandGenerateUniformDouble(Generator *generator, double *to,
                                               std::size_t count) {
    return call("curandGenerateUniformDouble", generator, to, count);
}
