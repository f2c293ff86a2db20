// Text of reports, each of which continues with its upstream's.
#pragma once
#include <entrepot/core/text.hpp>

namespace entrepot::text {

// The report of an upstream, as it is appended to another one.
inline std::string continued(const std::string &further) {
    return further.empty() ? further : "; " + further;
}

}  // namespace entrepot::text
