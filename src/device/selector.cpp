#include "device/selector.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace entrepot {
namespace {

enum class Style { full, numbered, bare };  // opencl:cpu:0, cuda:0, host

struct WordRow {
    std::string_view word;
    Style style;  // of the devices of the first backend; the others print in full
    std::array<std::string_view, 2> backends;
};

constexpr WordRow words[] = {
    {"opencl", Style::full, {"sycl"}},
    {"level_zero", Style::full, {"sycl"}},
    {"native_cpu", Style::full, {"sycl"}},
    // the driver's own devices, else those of the user's SYCL runtime
    {"cuda", Style::numbered, {"cuda", "sycl"}},
    {"hip", Style::numbered, {"hip", "sycl"}},
    {"host", Style::bare, {"host"}},
};

struct TypeRow {
    std::string_view word;
    ep_device_type type;
};
constexpr TypeRow types[] = {{"cpu", EP_CPU}, {"gpu", EP_GPU}, {"accelerator", EP_ACCELERATOR}};

template <class Row> const Row *find(const Row *begin, const Row *end, std::string_view word) {
    const Row *row =
        std::find_if(begin, end, [&](const Row &candidate) { return candidate.word == word; });
    return row == end ? nullptr : row;
}
const WordRow *find_word(std::string_view word) {
    return find(std::begin(words), std::end(words), word);
}
const TypeRow *find_type(std::string_view word) {
    return find(std::begin(types), std::end(types), word);
}

std::string lower_case(std::string_view text) {
    std::string lower(text);
    std::ranges::transform(lower, lower.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return lower;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        const std::size_t end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end == text.npos)
            return parts;
        text.remove_prefix(end + 1);
    }
}

std::optional<std::uint32_t> parse_number(std::string_view text) {
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return number;
}

// Bytes that do not print are shown as `?`: a message must not end at one.
std::string quoted(std::string_view part) {
    std::string shown(part);
    std::ranges::replace_if(shown, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
    return "'" + shown + "'";
}

[[noreturn]] void refuse(std::string_view text, const std::string &what) {
    throw Error(ErrorKind::value, quoted(text), " is no device selector: ", what,
                ". A selector is backend:type:number, each part optional and at least one there "
                "(opencl:cpu:0, gpu, 0), or cuda:N, "
                "hip:N, host, default; /N after it names a sub-device");
}

// The parts come in this order, each at most once.
void parse_root(Selector &selector, std::string_view root, std::string_view text,
                bool (*knows)(std::string_view)) {
    enum { at_backend, at_type, at_number, at_end } expected = at_backend;
    for (std::string_view part : split(root, ':')) {
        if (part.empty())
            refuse(text, root.empty() ? "it names no device" : "a part of it is empty");
        if (const TypeRow *row = find_type(part)) {
            if (expected > at_type)
                refuse(text, "the type " + quoted(part) + " stands behind the type or the number");
            selector.type = row->type;
            expected = at_number;
        } else if (std::isdigit(static_cast<unsigned char>(part.front()))) {
            if (expected > at_number)
                refuse(text, "something stands before the number " + quoted(part) +
                                 " that is a number too");
            selector.number = parse_number(part);
            if (!selector.number)
                refuse(text, quoted(part) + " is no device number");
            expected = at_end;
        } else if (find_word(part) || knows(part)) {
            if (expected > at_backend)
                refuse(text, "the backend " + quoted(part) + " does not stand first");
            selector.backend = part;
            expected = at_type;
        } else {
            refuse(text, quoted(part) + " is neither a backend nor a type nor a number");
        }
    }
}

}  // namespace

Selector parse_selector(std::string_view text, bool (*knows)(std::string_view)) {
    const std::string lower = lower_case(text);
    const std::vector<std::string_view> levels = split(lower, '/');
    Selector selector;
    if (levels.front() == "default")
        selector.is_default = true;
    else
        parse_root(selector, levels.front(), text, knows);
    for (auto level = levels.begin() + 1; level != levels.end(); ++level) {
        const std::optional<std::uint32_t> number = parse_number(*level);
        if (!number)
            refuse(text, quoted(*level) + " is no number of a sub-device");
        selector.path.push_back(*number);
    }
    return selector;
}

std::string selector_of(const Backend &backend, const ep_device_info &info, const Device &parent) {
    if (parent)
        return sentence_of(parent.selector(), '/', info.number);
    const WordRow *row = find_word(info.backend);
    const Style style = row && row->backends.front() == backend.name() ? row->style : Style::full;
    std::string selector = info.backend;
    if (style == Style::full)
        selector += sentence_of(':', types[info.type].word);
    if (style != Style::bare)
        selector += sentence_of(':', info.number);
    return selector;
}

std::vector<std::string_view> backends_of_word(std::string_view word) {
    std::vector<std::string_view> backends;
    if (const WordRow *row = find_word(word))
        std::ranges::copy_if(row->backends, std::back_inserter(backends),
                             [](std::string_view name) { return !name.empty(); });
    return backends;
}

}  // namespace entrepot
