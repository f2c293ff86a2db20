// Selectors: the words that name devices. One table says which backends there are words for and how
// their devices print.
#pragma once
#include <entrepot/device/device.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace entrepot {

struct Selector {
    std::string backend;  // the word, in lower case; empty: any
    std::optional<ep_device_type> type;
    std::optional<std::uint32_t> number;  // among the devices that match the rest
    bool is_default = false;
    std::vector<std::uint32_t> path;  // of sub-devices
};

// `knows` tells whether a backend that was added or loaded uses the word.
// Throws ValueError saying which part was not understood.
Selector parse_selector(std::string_view text, bool (*knows)(std::string_view word));

// The selector that finds a device again.
std::string selector_of(const Backend &backend, const ep_device_info &info, const Device &parent);

// The backends that may have devices of that word, in the order in which they are asked; empty for
// words outside the table.
std::vector<std::string_view> backends_of_word(std::string_view word);

}  // namespace entrepot
