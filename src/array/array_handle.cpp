// ArrayHandle: conversion to and from bytes, which another process may have written, with checks.
#include <entrepot/array/array_handle.hpp>

#include <cstring>
#include <type_traits>
#include <vector>

namespace entrepot {
namespace {

constexpr std::string_view any_mark = "entrepot array handle ";
constexpr std::string_view mark = "entrepot array handle 3\n";

class Writer {
public:
    template <class Value> void put(const Value &value) {
        static_assert(std::is_trivially_copyable_v<Value>);
        bytes_.append(reinterpret_cast<const char *>(&value), sizeof value);
    }
    void put(std::string_view text) {
        put(static_cast<std::uint32_t>(text.size()));
        bytes_ += text;
    }
    void put(Extents extents) {
        for (const std::int64_t extent : extents)
            put(extent);
    }
    std::string take() { return std::move(bytes_); }

private:
    std::string bytes_{mark};
};

class Reader {
public:
    explicit Reader(std::string_view bytes) : rest_(bytes) {
        if (rest_.starts_with(any_mark) && !rest_.starts_with(mark))
            throw Error(ErrorKind::value, "these ", bytes.size(),
                        " bytes are no handle of an array in the format of this version of "
                        "Entrepot, but of another one: use the same release in all processes");
        if (!rest_.starts_with(mark))
            throw Error(ErrorKind::value, "these ", bytes.size(),
                        " bytes are no handle of an array: bytes(handle) makes one");
        rest_.remove_prefix(mark.size());
    }

    template <class Value> Value get() {
        static_assert(std::is_trivially_copyable_v<Value>);
        Value value;
        std::memcpy(&value, take(sizeof value).data(), sizeof value);
        return value;
    }
    std::string get_text() { return std::string(take(get<std::uint32_t>())); }
    std::vector<std::int64_t> get_extents(std::size_t count) {
        std::vector<std::int64_t> extents(count);
        for (std::int64_t &extent : extents)
            extent = get<std::int64_t>();
        return extents;
    }
    void end() const {
        if (!rest_.empty())
            throw Error(ErrorKind::value, "the handle of an array has ", rest_.size(),
                        " bytes too many");
    }

private:
    std::string_view take(std::size_t count) {
        if (count > rest_.size())
            throw Error(ErrorKind::value, "the handle of an array is cut short");
        const std::string_view taken = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return taken;
    }

    std::string_view rest_;
};

// The first element. Throws if elements lie outside the memory. The shared range begins at the
// lowest one.
std::byte *first_element(const ArrayHandle &handle, const Memory &memory) {
    const std::uint64_t lowest = handle.memory.offset, size = memory.nbytes();
    const ByteRange touched = handle.layout.byte_range(handle.dtype.itemsize());
    const std::uint64_t first =
        lowest + static_cast<std::uint64_t>(-touched.begin);  // checked below
    if (lowest > size || static_cast<std::uint64_t>(touched.end - touched.begin) > size - lowest)
        throw Error(ErrorKind::value, "the handle's array, ", handle.layout, " of ", handle.dtype,
                    " at byte ", first, ", reaches beyond its memory of ", size, " bytes");
    std::byte *const element = static_cast<std::byte *>(memory.data()) + first;
    if (handle.layout.size() != 0 && reinterpret_cast<std::uintptr_t>(element) %
                                         static_cast<std::uintptr_t>(handle.dtype.alignment()))
        throw Error(ErrorKind::value, "the handle's array begins at byte ", first,
                    ", which is not aligned to the ", handle.dtype.alignment(), " bytes of ",
                    handle.dtype);
    return element;
}

UsmKind kind_from(std::uint8_t number) {
    const auto kind = static_cast<UsmKind>(number);
    if (kind != UsmKind::host && kind != UsmKind::device && kind != UsmKind::shared)
        throw Error(ErrorKind::value, "the handle of an array names a kind of memory, ",
                    int{number}, ", that there is not");
    return kind;
}

using DeviceNumber = std::array<std::uint8_t, sizeof ep_ipc_handle::device>;

void put_piece(Writer &writer, const SharedPiece &piece) {
    writer.put(piece.sender);
    writer.put(piece.ipc.form);
    writer.put(piece.ipc.size);
    writer.put(
        std::string_view(reinterpret_cast<const char *>(piece.ipc.name), piece.ipc.name_size));
}

SharedPiece get_piece(Reader &reader, const DeviceNumber &device) {
    SharedPiece piece;
    piece.sender = reader.get<Sender>();
    piece.ipc.form = reader.get<std::uint32_t>();
    piece.ipc.file = -1;
    piece.ipc.size = reader.get<std::uint64_t>();
    const std::string name = reader.get_text();
    if (name.size() > sizeof piece.ipc.name)
        throw Error(ErrorKind::value, "the handle of an array has a name of ", name.size(),
                    " bytes, and ", sizeof piece.ipc.name, " is the most");
    piece.ipc.name_size = static_cast<std::uint32_t>(name.size());
    std::memcpy(piece.ipc.name, name.data(), name.size());
    std::memcpy(piece.ipc.device, device.data(), device.size());
    return piece;
}

void put_event(Writer &writer, const SharedEvent &event) {
    writer.put(event.sender);
    writer.put(event.ipc.process);
    writer.put(
        std::string_view(reinterpret_cast<const char *>(event.ipc.name), event.ipc.name_size));
}

SharedEvent get_event(Reader &reader) {
    SharedEvent event;
    event.sender = reader.get<Sender>();
    event.ipc.file = -1;
    event.ipc.process = reader.get<std::int32_t>();
    const std::string found = reader.get_text();
    if (found.size() > sizeof event.ipc.name)
        throw Error(ErrorKind::value, "the handle of an array has an event of ", found.size(),
                    " bytes, and ", sizeof event.ipc.name, " is the most");
    event.ipc.name_size = static_cast<std::uint32_t>(found.size());
    std::memcpy(event.ipc.name, found.data(), found.size());
    return event;
}

}  // namespace

ArrayHandle ArrayHandle::of(const Array &array, ep_ipc_form form) {
    // An empty array may have any address.
    const void *const first = array.size() != 0 ? array.data() : array.memory().data();
    const ByteRange range = array.layout().byte_range(array.itemsize());
    return {share(array.memory(), static_cast<const std::byte *>(first) + range.begin,
                  static_cast<std::size_t>(range.end - range.begin), form,
                  array.read_only() ? Access::read : Access::write),
            array.dtype(), array.layout(), array.read_only()};
}

Array ArrayHandle::open() const {
    const Memory opened = entrepot::open(memory, read_only);
    std::byte *const first = first_element(*this, opened);
    return Array(opened, first, dtype, layout, read_only);
}

std::string ArrayHandle::bytes() const {
    Writer writer;
    writer.put(std::string_view(memory.backend));
    writer.put(static_cast<std::uint8_t>(memory.kind));
    writer.put(memory.offset);
    writer.put(memory.pieces.front().ipc.device);
    writer.put(static_cast<std::uint32_t>(memory.pieces.size()));
    for (const SharedPiece &piece : memory.pieces)
        put_piece(writer, piece);
    writer.put(static_cast<std::uint8_t>(memory.pending.has_value()));
    if (memory.pending)
        put_event(writer, *memory.pending);
    writer.put(dtype);
    writer.put(static_cast<std::uint8_t>(read_only));
    writer.put(static_cast<std::uint32_t>(layout.ndim()));
    writer.put(layout.shape());
    writer.put(layout.strides());
    return writer.take();
}

ArrayHandle ArrayHandle::from_bytes(std::string_view bytes) {
    Reader reader(bytes);
    ArrayHandle handle;
    handle.memory.backend = reader.get_text();
    handle.memory.kind = kind_from(reader.get<std::uint8_t>());
    handle.memory.offset = reader.get<std::uint64_t>();
    const auto device = reader.get<DeviceNumber>();
    const auto count = reader.get<std::uint32_t>();
    if (count == 0)
        throw Error(ErrorKind::value, "the handle of an array names no memory");
    for (std::uint32_t i = 0; i < count; ++i)  // ends where the bytes do
        handle.memory.pieces.push_back(get_piece(reader, device));
    if (reader.get<std::uint8_t>() != 0)
        handle.memory.pending = get_event(reader);
    handle.dtype = reader.get<Dtype>();
    if (handle.dtype.bits == 0 || handle.dtype.lanes == 0)
        throw Error(ErrorKind::value, "the handle of an array names elements of no size");
    handle.read_only = reader.get<std::uint8_t>() != 0;
    const auto ndim = reader.get<std::uint32_t>();
    if (ndim > Layout::max_ndim)
        throw Error(ErrorKind::value, "the handle of an array has ", ndim, " axes, and ",
                    Layout::max_ndim, " is the most");
    const std::vector<std::int64_t> shape = reader.get_extents(ndim),
                                    strides = reader.get_extents(ndim);
    reader.end();
    handle.layout = Layout(Extents(shape), Extents(strides));
    return handle;
}

}  // namespace entrepot
