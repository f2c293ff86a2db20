// Nodes of a graph as submissions to a queue, for runtimes that record what is submitted.
#pragma once
#include <entrepot/device/backend.h>

#include "backends/boundary.hpp"

namespace entrepot::backends {

// Submits the node by the functions of the table.
inline ep_status submit_node(const ep_backend &table, ep_queue queue, const ep_node &node) {
    switch (node.kind) {
    case EP_NODE_LAUNCH: {
        const auto &of = node.of.launch;
        return table.kernel_launch(queue, of.kernel, of.range, of.cooperation, of.arguments,
                                   of.count);
    }
    case EP_NODE_COPY: {
        const auto &of = node.of.copy;
        return table.memory_copy(queue, of.to, of.from, of.bytes);
    }
    case EP_NODE_COPY_STRIDED: {
        const auto &of = node.of.copy_strided;
        return table.memory_copy_strided(queue, of.box, of.to, of.to_strides, of.from,
                                         of.from_strides);
    }
    case EP_NODE_FILL: {
        const auto &of = node.of.fill;
        return table.memory_fill(queue, of.to, of.item, of.itemsize, of.count);
    }
    case EP_NODE_FILL_STRIDED: {
        const auto &of = node.of.fill_strided;
        return table.memory_fill_strided(queue, of.box, of.to, of.to_strides, of.item);
    }
    }
    return guarded([&] {
        refuse(EP_INVALID, "a graph's node is of kind ", static_cast<int>(node.kind),
               ", which ep_node_kind has not");
    });
}

}  // namespace entrepot::backends
