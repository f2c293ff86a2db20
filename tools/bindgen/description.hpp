// Description: what a library's headers declare, as facts. Rules about Python come later, so that
// two versions of a header can be compared, and a description be reviewed, without any.
#pragma once
#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace bindgen {

using Json = nlohmann::ordered_json;

// kind: void, scalar, enum, record, opaque (a struct that is only declared), callback (a pointer to
// a function), pointer, array.
struct Type {
    std::string kind = "void";
    std::string name;  // of scalars as ctypes has it (c_int), of the rest as it is declared; of
                       // pointers: the typedef, if any
    bool is_const = false;    // of a pointer: what it points to is
    std::int64_t count = 0;   // of arrays
    std::vector<Type> inner;  // of pointers and arrays

    const Type &pointee() const { return inner.front(); }
    bool is(const char *other) const { return kind == other; }
    bool points_to(const char *other) const { return is("pointer") && pointee().is(other); }
};

struct Parameter {
    std::string name;
    Type type;
    std::string direction;  // of doxygen: in, out, inout; empty where it says nothing
    std::string doc;
};

struct Function {
    std::string name;
    Type result;
    std::vector<Parameter> parameters;
    bool is_variadic = false;
    std::string declaration;
    std::string doc;
    std::string returns;
};

struct Field {
    std::string name;  // empty: an anonymous struct or union
    Type type;
    std::int64_t bit_offset = 0;
    std::int64_t width = 0;  // of bit-fields
    std::string doc;
};

struct Record {
    std::string name;
    std::string c_name;  // with struct or union where C wants that; empty: C has no name for it
    bool is_union = false;
    std::int64_t size = 0, alignment = 0;
    std::vector<Field> fields;
    std::string doc;
};

struct Enumerator {
    std::string name;
    std::int64_t value = 0;
    std::string doc;
};

struct Enum {
    std::string name;
    std::string type;  // the integer it is, as ctypes names it
    std::vector<Enumerator> enumerators;
    std::string doc;
};

struct Opaque {
    std::string name;
    std::string doc;
};

struct Constant {
    std::string name;
    Json value;
    std::string doc;
};

struct Alias {
    std::string name, target;
};

struct Description {
    std::vector<Constant> constants;
    std::vector<Enum> enums;
    std::vector<Opaque> opaques;
    std::vector<Record> records;
    std::vector<Function> callbacks;  // types of pointers to functions
    std::vector<Function> functions;
    std::vector<Alias> aliases;
};

// A declaration a line, so that differences between versions of a header read well.
std::string text_of(const Description &description);
Description description_of(const std::string &text);

}  // namespace bindgen
