// CompileError: a message with its position in the source.
#include "kernel/ir/error.hpp"
#include <entrepot/core/assert.hpp>
#include <entrepot/core/layout.hpp>

#include <algorithm>
#include <vector>

namespace entrepot::kernel {

namespace {

constexpr bool starts_character(char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
}

// Line of carets below the columns [first, last). Tabs stay tabs, and a multi-byte character takes
// one column.
std::string carets(std::string_view line, std::size_t first, std::size_t last) {
    std::string text;
    for (std::size_t i = 0; i < std::min(last, line.size()); ++i)
        if (starts_character(line[i]))
            text += i >= first ? '^' : line[i] == '\t' ? '\t' : ' ';
    return text.find('^') == text.npos ? text + "^" : text;
}

std::string shown(const Source &function, Position at) {
    const std::string_view line = function.line(at.line);
    if (line.empty())
        return "";
    const auto first = static_cast<std::size_t>(std::max(at.column, 0));
    const std::size_t last =
        at.end_line == at.line ? static_cast<std::size_t>(std::max(at.end_column, 0)) : line.size();
    const std::size_t indent = std::min(line.find_first_not_of(" \t"), first);
    const std::string_view text = line.substr(indent);
    return sentence_of("\n    ", text, "\n    ",
                       carets(text, first - indent, std::max(last, first + 1) - indent));
}

std::string message_of(const Source &function, Position at, std::string_view message) {
    return sentence_of(function.file, ":", at.line, ": ", in_language_of(function, message),
                       shown(function, at));
}

// Enclose names in messages. Neither occurs in Python's source.
constexpr char begin_name = '\x02';
constexpr char end_name = '\x03';

std::string calls_to(const ir::Place &place) {
    std::string text;
    for (const ir::Inlined *each = place.inlined; each; each = each->caller.get())
        text +=
            sentence_of("\n", message_of(ir::Place{place.function, each->caller.get(), {}}.source(),
                                         each->called_at, "called here"));
    return text;
}

}  // namespace

std::string named(std::string_view name) { return begin_name + std::string(name) + end_name; }

std::string in_language_of(const Source &function, std::string_view message) {
    static const Wording own;
    const Wording &wording = function.wording ? *function.wording : own;
    std::string text;
    while (!message.empty()) {
        // A backend's message may contain the mark alone.
        const std::size_t end =
            message.front() == begin_name ? message.find(end_name) : message.npos;
        if (end != message.npos) {
            const std::string_view name = message.substr(1, end - 1);
            const auto found = wording.names.find(name);
            text += found == wording.names.end() ? name : found->second;
            message.remove_prefix(end + 1);
            continue;
        }
        const auto term = std::ranges::find_if(
            wording.terms, [&](const auto &each) { return message.starts_with(each.first); });
        if (term == wording.terms.end()) {
            text += message.front();
            message.remove_prefix(1);
        } else {
            text += term->second;
            message.remove_prefix(term->first.size());
        }
    }
    return text;
}

std::string indices_in_language_of(const Source &function, std::span<const std::int64_t> indices) {
    std::vector<std::int64_t> ordered(indices.begin(), indices.end());
    if (function.wording && function.wording->x_first)
        std::ranges::reverse(ordered);
    return tuple_text(ordered);
}

std::string_view Source::line(std::int32_t number) const {
    std::string_view rest = source;
    for (std::int32_t at = first_line; at < number && !rest.empty(); ++at) {
        const std::size_t end = rest.find('\n');
        rest = end == rest.npos ? std::string_view{} : rest.substr(end + 1);
    }
    return number < first_line ? std::string_view{} : rest.substr(0, rest.find('\n'));
}

const Source &ir::Place::source() const {
    static const Source nowhere{"kernel", "<kernel>", "", 1};
    if (inlined)
        return *inlined->source;
    return function->source ? *function->source : nowhere;
}

CompileError::CompileError(const ir::Place &place, std::string_view message)
    : Error(ErrorKind::kernel, message_of(place.source(), place.at, message), calls_to(place)) {}

CompileError::CompileError(const ir::Place &place, std::string_view message, const ir::Place &other,
                           std::string_view about_other)
    : Error(ErrorKind::kernel, message_of(place.source(), place.at, message), "\n",
            message_of(other.source(), other.at, about_other), calls_to(place)) {}

CompileError::CompileError(const Source &function, Position at, std::string_view message)
    : Error(ErrorKind::kernel, message_of(function, at, message)) {}

CompileError::CompileError(const Source &function, Position at, std::string_view message,
                           Position other, std::string_view about_other)
    : Error(ErrorKind::kernel, message_of(function, at, message), "\n",
            message_of(function, other, about_other)) {}

CompileError::CompileError(const CompileError &found, const Source &caller, Position at)
    : Error(ErrorKind::kernel, found.what(), "\n", message_of(caller, at, "called here")) {}

}  // namespace entrepot::kernel
