// StatisticsResource: counts what passes through it.
#pragma once
#include <entrepot/memory/resource.hpp>

#include <atomic>

#pragma GCC visibility push(default)
namespace entrepot {

class StatisticsResource final : public Resource {
public:
    explicit StatisticsResource(Resource *upstream) noexcept : Resource(upstream) {}

    Block allocate(const Place &place, std::size_t bytes, std::size_t alignment,
                   const Queue &queue) override;
    void deallocate(const Place &place, Block block, Pending pending) noexcept override;
    std::string name() const override { return "statistics"; }
    const Resource &origin() const noexcept override { return upstream()->origin(); }
    std::string report() const override;

    // While it exists, failures on this thread are not counted: they repeat one that was.
    class SecondTry {
    public:
        SecondTry() noexcept;
        ~SecondTry();
        SecondTry(const SecondTry &) = delete;
        SecondTry &operator=(const SecondTry &) = delete;
    };

    // Bytes as they were asked for. Each number is exact; taken together while threads are at work
    // they may be a moment apart.
    struct Numbers {
        std::size_t current_bytes = 0, peak_bytes = 0, total_bytes = 0;
        std::size_t current_count = 0, peak_count = 0, total_count = 0;
        std::size_t failed_count = 0;  // allocations that the upstream refused, once each
    };
    Numbers numbers() const noexcept;
    void reset_peaks() noexcept;  // to what is out now

private:
    ~StatisticsResource() override = default;

    struct Counter {
        std::atomic<std::size_t> current{0}, peak{0}, total{0};

        void add(std::size_t amount) noexcept;
        void subtract(std::size_t amount) noexcept {
            current.fetch_sub(amount, std::memory_order_relaxed);
        }
    };

    Counter bytes_, count_;
    std::atomic<std::size_t> failed_{0};
};

}  // namespace entrepot
#pragma GCC visibility pop
