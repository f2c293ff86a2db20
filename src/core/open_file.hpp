// OpenFile: owns a file descriptor.
#pragma once
#include <unistd.h>

#include <utility>

namespace entrepot {

class OpenFile {
public:
    explicit OpenFile(int number) noexcept : number_(number) {}  // negative if none
    OpenFile(OpenFile &&other) noexcept : number_(std::exchange(other.number_, -1)) {}
    OpenFile &operator=(OpenFile &&other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~OpenFile() {
        if (number_ >= 0)
            close(number_);
    }

    int number() const noexcept { return number_; }
    int detach() noexcept { return std::exchange(number_, -1); }

private:
    int number_;
};

}  // namespace entrepot
