// Suggestions for misspelt names in messages.
#pragma once

#include <span>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace entrepot {

// The known name with the smallest edit distance (changed, added, dropped or swapped letters).
// Empty if even that differs in more than a third of the longer name's letters.
std::string_view closest(std::string_view name, std::span<const std::string> known);

// Returns "; did you mean `sqrt`?", or nothing if no known name is close.
std::string did_you_mean(std::string_view name, std::span<const std::string> known);

}  // namespace entrepot
#pragma GCC visibility pop
