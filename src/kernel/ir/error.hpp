// Error in the source of a kernel.
#pragma once
#include "kernel/ir/ir.hpp"
#include "kernel/ir/source.hpp"
#include <entrepot/core/error.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace entrepot::kernel {

// A name of the language in a message, as in "write " + named("barrier()"). The message is shown
// in the words of the function that it is about.
std::string named(std::string_view name);
// The message with the names and terms of the function's language. A term is no identifier, so that
// it is not part of a name that the message quotes.
std::string in_language_of(const Source &function, std::string_view message);
// A tuple of the index space, given the slowest dimension first, in the order of the language.
std::string indices_in_language_of(const Source &function, std::span<const std::int64_t> indices);

// Error in a kernel, of kind `kernel`, with this message:
//
//     file:line: what is wrong; what to write instead
//         the source line
//         ^^^^^ under the relevant part
//
// An error about two places shows the second one afterwards. An error in a device function lists
// the calls that led to it.
class CompileError : public Error {
public:
    CompileError(const Source &function, Position at, std::string_view message);
    CompileError(const Source &function, Position at, std::string_view message, Position other,
                 std::string_view about_other);
    // For a place in the typed form. Lists the calls that were inlined to reach it.
    CompileError(const ir::Place &place, std::string_view message);
    CompileError(const ir::Place &place, std::string_view message, const ir::Place &other,
                 std::string_view about_other);
    // Copy of `found` that adds the call at `at` in `caller`.
    CompileError(const CompileError &found, const Source &caller, Position at);
};

}  // namespace entrepot::kernel
