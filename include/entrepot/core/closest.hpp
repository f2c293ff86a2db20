// What a misspelt name may have meant, for messages.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace entrepot {

// The known name that is nearest: by the fewest letters that are changed, added, left out or swapped with their neighbour.
// Empty where even that one differs in more than a third of the longer name's letters.
std::string_view closest(std::string_view name, std::span<const std::string> known);

// "; did you mean `sqrt`?", or nothing where no known name is near.
std::string did_you_mean(std::string_view name, std::span<const std::string> known);

}  // namespace entrepot
