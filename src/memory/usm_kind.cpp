// UsmKind: printing.
#include <entrepot/memory/usm_kind.hpp>

#include <ostream>

namespace entrepot {

std::ostream &operator<<(std::ostream &out, UsmKind kind) { return out << name_of(kind); }

}  // namespace entrepot
