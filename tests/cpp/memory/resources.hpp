// All resources, for the contract suite. To add a resource, add a row.
#pragma once
#include <entrepot/memory/direct.hpp>
#include <entrepot/memory/limit.hpp>
#include <entrepot/memory/log.hpp>
#include <entrepot/memory/pool.hpp>
#include <entrepot/memory/statistics.hpp>
#include <entrepot/memory/track.hpp>

#include <limits>

namespace entrepot {

struct ResourceRow {
    const char *name;
    ResourceRef (*make)(Resource *upstream);
};

inline const ResourceRow every_resource[] = {
    {"direct", [](Resource *) { return ResourceRef(direct_resource()); }},
    {"pool", [](Resource *upstream) { return make_resource<PoolResource>(upstream); }},
    {"pool that keeps nothing",
     [](Resource *upstream) { return make_resource<PoolResource>(upstream, std::size_t{0}); }},
    {"pool of a pool",
     [](Resource *upstream) {
         return make_resource<PoolResource>(make_resource<PoolResource>(upstream).get());
     }},
    {"limit",
     [](Resource *upstream) {
         return make_resource<LimitResource>(upstream, std::numeric_limits<std::size_t>::max());
     }},
    {"log",
     [](Resource *upstream) {
         return make_resource<LogResource>(upstream, [](std::string_view) {});
     }},
    {"track",
     [](Resource *upstream) {
         return make_resource<TrackResource>(upstream, [] { return std::string("here"); });
     }},
    {"statistics", [](Resource *upstream) { return make_resource<StatisticsResource>(upstream); }},
};

}  // namespace entrepot
