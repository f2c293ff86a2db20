// Graph capture outside the table, by functions of CUDA's driver or of HIP.
#pragma once
#include <backends/contract.hpp>

#include <functional>
#include <string>

namespace entrepot::contract {

// Returns the functions of a driver. Argument `find` looks a function up by its name, which begins
// with `prefix`. Argument `begin` is the name of the function that begins a capture. Argument
// `inside` calls its second argument with the stream's context current.
inline Graphs graphs_of(const std::function<void *(const std::string &)> &find,
                        const std::string &prefix, const std::string &begin,
                        const std::function<void(void *, const std::function<void()> &)> &inside) {
    const auto call = [find, prefix](const std::string &name, auto... arguments) {
        void *const found = find(prefix + name);
        REQUIRE_MESSAGE(found != nullptr, prefix, name);
        return reinterpret_cast<int (*)(decltype(arguments)...)>(found)(arguments...) == 0;
    };
    constexpr int global = 0;  // the strictest capture mode
    Graphs made;
    made.begin = [=](void *stream) { return call(begin, stream, int{global}); };
    made.end = [=](void *stream) {
        void *graph = nullptr;
        return call("StreamEndCapture", stream, &graph) ? graph : nullptr;
    };
    made.run = [=](void *graph, void *stream) {
        bool has_run = false;
        inside(stream, [&] {
            void *ready = nullptr;
            has_run = call("GraphInstantiateWithFlags", &ready, graph, 0ull) &&
                      call("GraphLaunch", ready, stream) && call("StreamSynchronize", stream) &&
                      call("GraphExecDestroy", ready);
        });
        return has_run;
    };
    made.drop = [=](void *graph) { return call("GraphDestroy", graph); };
    return made;
}

}  // namespace entrepot::contract
