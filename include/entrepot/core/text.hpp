// Text for messages, in the classic locale: the program's locale might group the digits of sizes
// and addresses.
#pragma once

#include <locale>
#include <sstream>
#include <string>
#include <utility>

#pragma GCC visibility push(default)
namespace entrepot {

// Streams the parts into one string.
template <class... Parts> std::string sentence_of(const Parts &...parts) {
    std::ostringstream out;
    out.imbue(std::locale::classic());
    (out << ... << parts);
    return std::move(out).str();
}

}  // namespace entrepot
#pragma GCC visibility pop
