// Sets a locale that groups digits until the scope ends.
#pragma once
#include <locale>
#include <string>

namespace entrepot {

class GroupedDigits {
public:
    GroupedDigits()
        : before_(std::locale::global(std::locale(std::locale::classic(), new Points))) {}
    ~GroupedDigits() { std::locale::global(before_); }
    GroupedDigits(const GroupedDigits &) = delete;
    GroupedDigits &operator=(const GroupedDigits &) = delete;

private:
    struct Points : std::numpunct<char> {
        char do_thousands_sep() const override { return '.'; }
        std::string do_grouping() const override { return "\3"; }
    };

    std::locale before_;
};

}  // namespace entrepot
