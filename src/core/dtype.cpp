// Dtype: spellings of types, parsed and written by look-ups in dtype_table.
#include <entrepot/core/dtype.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <ostream>

#include <entrepot/core/error.hpp>

namespace entrepot {

namespace {

static_assert(std::endian::native == std::endian::little,
              "the typestrs of dtype_table are those of a little-endian host");

template <class Match> constexpr const DtypeRow *find_row(Match match) noexcept {
    const auto row = std::find_if(dtype_table.begin(), dtype_table.end(), match);
    return row == dtype_table.end() ? nullptr : &*row;
}

// Kind and size of a typestr as one number, for fast comparison in every import of a dict. The byte
// order is left out, since not all producers write it as the table does: dpctl writes `|` for all
// types.
constexpr std::size_t longest_kind_and_size = 3;
constexpr std::uint32_t packed(std::string_view kind_and_size) noexcept {
    auto number = static_cast<std::uint32_t>(kind_and_size.size());
    for (const char each : kind_and_size)
        number = number << 8 | static_cast<unsigned char>(each);
    return number;
}
constexpr auto packed_kinds_and_sizes = [] {
    std::array<std::uint32_t, dtype_table.size()> numbers{};
    for (std::size_t i = 0; i < numbers.size(); ++i)
        if (!dtype_table[i].typestr.empty())
            numbers[i] = packed(dtype_table[i].typestr.substr(1));
    return numbers;
}();
static_assert(std::ranges::all_of(dtype_table, [](const DtypeRow &row) {
    return row.typestr.size() <= longest_kind_and_size + 1;
}));

const DtypeRow *find_kind_and_size(std::string_view text) noexcept {
    if (text.size() < 2 || text.size() > longest_kind_and_size)
        return nullptr;
    const auto found =
        std::find(packed_kinds_and_sizes.begin(), packed_kinds_and_sizes.end(), packed(text));
    return found == packed_kinds_and_sizes.end()
               ? nullptr
               : &dtype_table[static_cast<std::size_t>(found - packed_kinds_and_sizes.begin())];
}

bool begins_with_order(std::string_view typestr) noexcept {
    return !typestr.empty() && std::string_view("<>=|").find(typestr[0]) != std::string_view::npos;
}

const DtypeRow *find_format(std::string_view format) noexcept {
    return format.empty() ? nullptr
                          : find_row([&](const DtypeRow &row) { return row.format == format; });
}

// Reasons why items of some NumPy kinds are refused, and advice.
struct RefusedKind {
    char kind;
    std::string_view reason;
};

constexpr RefusedKind refused_kinds[] = {
    {'V', "structured or untyped items have no plain type; take one field, or view them as a plain "
          "type of the same size; "
          "bfloat16 and "
          "float8, which some libraries write so, go by DLPack"},
    {'O', "Python objects are not plain memory; convert them to a numeric type"},
    {'M', "dates have no plain type; view them as int64"},
    {'m', "time differences have no plain type; view them as int64"},
    {'S', "byte strings have no plain type; view them as bytes, by array.view(\"uint8\")"},
    {'U', "strings have no plain type; view them as code points, by array.view(\"uint32\")"},
    {'t', "bit fields are not addressable; unpack them to uint8"},
};

// The sizes of a kind, as `2, 4 or 8`; empty for a kind that the table lacks.
std::string sizes_of_kind(char kind) {
    std::string sizes, last;
    for (const DtypeRow &row : dtype_table) {
        if (row.typestr.empty() || row.typestr[1] != kind)
            continue;
        if (!last.empty())
            sizes += (sizes.empty() ? "" : ", ") + last;
        last = row.typestr.substr(2);
    }
    return sizes.empty() ? last : sizes + " or " + last;
}

Error typestr_refusal(std::string_view typestr, std::string_view reason) {
    return Error(ErrorKind::interface, "typestr '", typestr, "' cannot be taken: ", reason);
}

[[noreturn]] void refuse_typestr(std::string_view typestr) {
    const char kind = begins_with_order(typestr) && typestr.size() >= 2 ? typestr[1] : '\0';
    for (const RefusedKind &refused : refused_kinds)  // first, since NumPy's `|O` has no size
        if (refused.kind == kind)
            throw typestr_refusal(typestr, refused.reason);
    if (kind == '\0' || typestr.size() < 3)
        throw typestr_refusal(typestr,
                              "byte order, kind and bytes are expected, such as '<f4' or '|b1'");
    const std::string sizes = sizes_of_kind(kind);
    throw typestr_refusal(typestr, sizes.empty()
                                       ? "its kind is unknown; b, i, u, f and c are taken"
                                       : "items of that kind have " + sizes + " bytes here");
}

// Aliases of the table's formats. Empty: the code does not exist in that mode.
struct FormatAlias {
    std::string_view code;
    std::string_view standard;  // sizes of `=`, `<`, `>` and `!`
    std::string_view native;    // sizes of this host's C compiler
};

constexpr std::string_view long_format = sizeof(long) == 8 ? "q" : "i";
constexpr std::string_view ulong_format = sizeof(unsigned long) == 8 ? "Q" : "I";
constexpr std::string_view ssize_format = sizeof(std::ptrdiff_t) == 8 ? "q" : "i";
constexpr std::string_view size_format = sizeof(std::size_t) == 8 ? "Q" : "I";

constexpr FormatAlias format_aliases[] = {
    {"c", "B", "B"},
    {"l", "i", long_format},
    {"L", "I", ulong_format},
    {"n", "", ssize_format},
    // ctypes writes `<P`, although struct allows it in native mode only
    {"N", "", size_format},
    {"P", size_format, size_format},
    {"F", "Zf", "Zf"},  // Python 3.14's own spelling of complex numbers
    {"D", "Zd", "Zd"},
};

const DtypeRow *find_format_or_alias(std::string_view code, bool standard) noexcept {
    for (const FormatAlias &alias : format_aliases)
        if (alias.code == code)
            return find_format(standard ? alias.standard : alias.native);
    return find_format(code);
}

// A parsed format.
struct Format {
    std::string_view asked, code;
    char order;
    bool standard;

    explicit Format(const char *format) noexcept
        : asked(format ? format : "B"), order(asked.empty() ? '\0' : asked.front()),
          standard(order == '=' || order == '<' || order == '>' || order == '!') {
        code = asked.substr(standard || order == '@' ? 1 : 0);
    }
    const DtypeRow *row() const noexcept { return find_format_or_alias(code, standard); }
};

std::string_view reason_against_format(std::string_view code) noexcept {
    if (code.empty())
        return "it names no item";
    if (code.front() == 'T' || code.find_first_of("{}:") != code.npos)
        return "structures have no plain type; take one field";
    if (code.front() == '(')
        return "items that are arrays have no plain type; export them as dimensions of the buffer";
    if (code.front() >= '0' && code.front() <= '9')
        return "repeated items have no plain type; export the count as a dimension of the buffer";
    if (code == "O")
        return "Python objects are not plain memory; convert them to a numeric type";
    if (code == "s" || code == "p" || code == "u" || code == "w")
        return "strings have no plain type; cast the buffer to 'B'";
    if (code == "g" || code == "Zg")
        return "no device has long double; convert to float64 or complex128";
    if (code == "n" || code == "N")
        return "that code exists in native mode only";
    if (code.find('x') != code.npos)
        return "padding belongs to structures, which have no plain type";
    return "exactly one item of a known type is expected, such as 'f', '<i' or 'Zd'";
}

Error format_refusal(std::string_view format, std::string_view reason) {
    return Error(ErrorKind::exchange, "buffer format '", format, "' cannot be taken: ", reason);
}

}  // namespace

std::string name_of(Dtype dtype) {
    const DtypeRow *const row = find_dtype({dtype.code, dtype.bits});
    const std::string lanes = std::to_string(dtype.lanes);
    if (row)
        return std::string(row->name) + (dtype.lanes == 1 ? "" : "x" + lanes);
    return "code " + std::to_string(static_cast<int>(dtype.code)) + ", " +
           std::to_string(dtype.bits) + " bits" + (dtype.lanes == 1 ? "" : ", " + lanes + " lanes");
}

std::optional<Dtype> dtype_from_name(std::string_view name) noexcept {
    const auto find_name = [](std::string_view wanted) {
        return find_row([&](const DtypeRow &row) { return row.name == wanted; });
    };
    if (const DtypeRow *const row = find_name(name))
        return row->dtype;

    const std::size_t cross = name.rfind('x');
    if (cross == name.npos)
        return std::nullopt;
    const DtypeRow *const row = find_name(name.substr(0, cross));
    const std::string_view count = name.substr(cross + 1);
    std::uint16_t lanes = 0;
    const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), lanes);
    if (!row || error != std::errc{} || end != count.data() + count.size() ||
        count.front() == '0' || lanes < 2)
        return std::nullopt;
    return Dtype{row->dtype.code, row->dtype.bits, lanes};
}

std::optional<std::string_view> typestr_of(Dtype dtype) noexcept {
    const DtypeRow *const row = find_dtype(dtype);
    return row && !row->typestr.empty() ? std::optional(row->typestr) : std::nullopt;
}

std::optional<Dtype> dtype_from_kind_and_size(std::string_view text) noexcept {
    const DtypeRow *const row = find_kind_and_size(text);
    return row ? std::optional(row->dtype) : std::nullopt;
}

Dtype dtype_from_typestr(std::string_view typestr) {
    const DtypeRow *const row =
        begins_with_order(typestr) ? find_kind_and_size(typestr.substr(1)) : nullptr;
    if (!row)
        refuse_typestr(typestr);
    if (typestr[0] == '>' && row->dtype.itemsize() > 1)
        throw typestr_refusal(typestr, "its bytes are swapped; copy it to the native order first, "
                                       "in NumPy with a.astype(a.dtype.newbyteorder('='))");
    return row->dtype;
}

bool is_format_of_ours(const char *format) noexcept { return Format(format).row() != nullptr; }

Dtype dtype_from_format(const char *format, std::int64_t itemsize) {
    const Format given(format);
    const std::string_view asked = given.asked;
    const DtypeRow *const row = given.row();
    if (!row)
        throw format_refusal(asked, reason_against_format(given.code));
    if (row->dtype.itemsize() != itemsize)
        throw Error(ErrorKind::exchange, "buffer format '", asked, "' means items of ",
                    row->dtype.itemsize(), " bytes, but the buffer gives an itemsize of ", itemsize,
                    "; its exporter contradicts itself");
    if ((given.order == '>' || given.order == '!') && itemsize > 1)
        throw format_refusal(asked, "its bytes are swapped; copy it to the native order first");
    return row->dtype;
}

std::ostream &operator<<(std::ostream &out, Dtype dtype) { return out << name_of(dtype); }

}  // namespace entrepot
