// Text for messages, in the classic locale: a program's own would group the digits of sizes and addresses.
#pragma once
#include <locale>
#include <sstream>
#include <string>

namespace entrepot::text {

template <class... Parts> std::string sentence(const Parts &...parts) {
    std::ostringstream out;
    out.imbue(std::locale::classic());
    (out << ... << parts);
    return std::move(out).str();
}

// What an upstream adds to a report.
inline std::string continued(const std::string &further) { return further.empty() ? further : "; " + further; }

}  // namespace entrepot::text
