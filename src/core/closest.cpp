#include "core/closest.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace entrepot {
namespace {

char lower(char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

// Ignores case: names are confused by their sound.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before, above(b.size() + 1), row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j)
        above[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const bool same = lower(a[i - 1]) == lower(b[j - 1]);
            row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0 : 1)});
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                lower(a[i - 2]) == lower(b[j - 1]))
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
        before = std::exchange(above, row);
    }
    return above[b.size()];
}

}  // namespace

std::string_view closest(std::string_view name, std::span<const std::string> known) {
    std::string_view best;
    std::size_t least = name.size() + 1;
    for (const std::string &each : known) {
        const std::size_t far = distance(name, each);
        if (far < least && 3 * far <= std::max(name.size(), each.size()) && each != name) {
            least = far;
            best = each;
        }
    }
    return best;
}

std::string did_you_mean(std::string_view name, std::span<const std::string> known) {
    const std::string_view best = closest(name, known);
    return best.empty() ? std::string() : "; did you mean `" + std::string(best) + "`?";
}

}  // namespace entrepot
