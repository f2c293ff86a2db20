// LogResource: a line for every allocation and deallocation that passes through it.
#pragma once
#include <entrepot/memory/resource.hpp>

#include <functional>
#include <string_view>

#pragma GCC visibility push(default)
namespace entrepot {

class LogResource final : public Resource {
public:
    // Called with one line, without its newline, on the thread that allocates or deallocates. Its
    // exceptions are ignored. The sink's own calls are not logged.
    using Sink = std::function<void(std::string_view line)>;

    // Without a sink, lines go to standard error.
    explicit LogResource(Resource *upstream, Sink sink = {});

    Block allocate(const Place &place, std::size_t bytes, std::size_t alignment,
                   const Queue &queue) override;
    void deallocate(const Place &place, Block block, Pending pending) noexcept override;
    std::string name() const override { return "log"; }
    const Resource &origin() const noexcept override { return upstream()->origin(); }

private:
    ~LogResource() override = default;

    template <class... Parts> void write(const Parts &...parts) const noexcept;

    const Sink sink_;
};

}  // namespace entrepot
#pragma GCC visibility pop
