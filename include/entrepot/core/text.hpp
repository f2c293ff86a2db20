// Text for messages, in the classic locale: the program's locale might group the digits of sizes
// and addresses.
#pragma once

#include <locale>
#include <sstream>
#include <string>
#include <string_view>
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

// A number with its noun, in the plural unless there is one: "2 arguments".
template <class Count> std::string counted(Count count, std::string_view noun) {
    return sentence_of(count, ' ', noun, count == 1 ? "" : "s");
}

}  // namespace entrepot
#pragma GCC visibility pop
