// Text of reports, each of which continues with its upstream's.
#pragma once
#include <entrepot/core/text.hpp>

namespace entrepot::text {

// What an upstream adds to a report.
inline std::string continued(const std::string &further) { return further.empty() ? further : "; " + further; }

}  // namespace entrepot::text
