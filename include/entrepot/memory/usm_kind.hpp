// UsmKind: whether host and device may access an allocation. One table gives its names.
#pragma once
#include <entrepot/core/api.hpp>
#include <entrepot/core/assert.hpp>
#include <entrepot/device/backend.h>

#include <cstdint>
#include <iosfwd>
#include <iterator>
#include <optional>
#include <string_view>

#pragma GCC visibility push(default)
namespace entrepot {

enum class UsmKind : std::uint8_t {
    unknown = EP_USM_UNKNOWN,
    host = EP_USM_HOST,      // of the host, the device may reach it; CUDA's pinned memory
    device = EP_USM_DEVICE,  // of the device; the host must not touch it
    shared = EP_USM_SHARED,  // moves between both; CUDA's managed memory
};

struct UsmKindRow {
    UsmKind kind;
    std::string_view name;
};
ENTREPOT_LOCAL inline constexpr UsmKindRow usm_kind_table[] = {{UsmKind::unknown, "unknown"},
                                                               {UsmKind::host, "host"},
                                                               {UsmKind::device, "device"},
                                                               {UsmKind::shared, "shared"}};

constexpr std::string_view name_of(UsmKind kind) noexcept {
    ENTREPOT_ASSERT(static_cast<std::size_t>(kind) < std::size(usm_kind_table));
    return usm_kind_table[static_cast<std::size_t>(kind)].name;
}
constexpr std::optional<UsmKind> usm_kind_from_name(std::string_view name) noexcept {
    for (const UsmKindRow &row : usm_kind_table)
        if (row.name == name)
            return row.kind;
    return std::nullopt;
}
constexpr bool is_host_accessible(UsmKind kind) noexcept {
    return kind == UsmKind::host || kind == UsmKind::shared;
}

std::ostream &operator<<(std::ostream &out, UsmKind kind);

}  // namespace entrepot
#pragma GCC visibility pop
