#include "description.hpp"

#include <cstddef>

namespace bindgen {

// One for each type, found by overloading: in bindgen itself, where the ones of lists look for
// them.

// Defaults are left out.
static void set(Json &json, const char *key, const std::string &value) {
    if (!value.empty())
        json[key] = value;
}

static Json json_of(const Type &type) {
    Json json{{"kind", type.kind}};
    set(json, "name", type.name);
    if (type.is_const)
        json["const"] = true;
    if (type.count)
        json["count"] = type.count;
    if (!type.inner.empty())
        json["of"] = json_of(type.inner.front());
    return json;
}

static Json json_of(const Parameter &parameter) {
    Json json{{"name", parameter.name}, {"type", json_of(parameter.type)}};
    set(json, "direction", parameter.direction);
    set(json, "doc", parameter.doc);
    return json;
}

template <class T> static Json json_of(const std::vector<T> &list) {
    Json json = Json::array();
    for (const T &each : list)
        json.push_back(json_of(each));
    return json;
}

static Json json_of(const Function &function) {
    Json json{{"name", function.name},
              {"result", json_of(function.result)},
              {"parameters", json_of(function.parameters)}};
    if (function.is_variadic)
        json["variadic"] = true;
    set(json, "declaration", function.declaration);
    set(json, "doc", function.doc);
    set(json, "returns", function.returns);
    return json;
}

static Json json_of(const Field &field) {
    Json json{{"name", field.name}, {"type", json_of(field.type)}, {"bit", field.bit_offset}};
    if (field.width)
        json["width"] = field.width;
    set(json, "doc", field.doc);
    return json;
}

static Json json_of(const Record &record) {
    Json json{{"name", record.name}};
    set(json, "c_name", record.c_name);
    json["union"] = record.is_union;
    json["size"] = record.size;
    json["alignment"] = record.alignment;
    json["fields"] = json_of(record.fields);
    set(json, "doc", record.doc);
    return json;
}

static Json json_of(const Enumerator &enumerator) {
    Json json{{"name", enumerator.name}, {"value", enumerator.value}};
    set(json, "doc", enumerator.doc);
    return json;
}

static Json json_of(const Enum &each) {
    Json json{{"name", each.name}, {"type", each.type}, {"enumerators", json_of(each.enumerators)}};
    set(json, "doc", each.doc);
    return json;
}

static Json json_of(const Opaque &opaque) {
    Json json{{"name", opaque.name}};
    set(json, "doc", opaque.doc);
    return json;
}

static Json json_of(const Constant &constant) {
    Json json{{"name", constant.name}, {"value", constant.value}};
    set(json, "doc", constant.doc);
    return json;
}

static Json json_of(const Alias &alias) {
    return Json{{"name", alias.name}, {"target", alias.target}};
}

template <class T>
static void write(std::string &text, const char *title, const std::vector<T> &list,
                  bool last = false) {
    text += std::string("  \"") + title + "\": [";
    for (std::size_t i = 0; i < list.size(); ++i)
        text += (i ? ",\n    " : "\n    ") + json_of(list[i]).dump();
    text += list.empty() ? "]" : "\n  ]";
    text += last ? "\n" : ",\n";
}

static void read(const Json &json, Type &type) {
    type.kind = json.at("kind");
    type.name = json.value("name", "");
    type.is_const = json.value("const", false);
    type.count = json.value("count", std::int64_t{0});
    if (json.contains("of"))
        read(json.at("of"), type.inner.emplace_back());
}

static void read(const Json &json, Parameter &parameter) {
    parameter.name = json.at("name");
    read(json.at("type"), parameter.type);
    parameter.direction = json.value("direction", "");
    parameter.doc = json.value("doc", "");
}

template <class T> static void read(const Json &json, std::vector<T> &list) {
    for (const Json &each : json)
        read(each, list.emplace_back());
}

static void read(const Json &json, Function &function) {
    function.name = json.at("name");
    read(json.at("result"), function.result);
    read(json.at("parameters"), function.parameters);
    function.is_variadic = json.value("variadic", false);
    function.declaration = json.value("declaration", "");
    function.doc = json.value("doc", "");
    function.returns = json.value("returns", "");
}

static void read(const Json &json, Field &field) {
    field.name = json.at("name");
    read(json.at("type"), field.type);
    field.bit_offset = json.at("bit");
    field.width = json.value("width", std::int64_t{0});
    field.doc = json.value("doc", "");
}

static void read(const Json &json, Record &record) {
    record.name = json.at("name");
    record.c_name = json.value("c_name", "");
    record.is_union = json.at("union");
    record.size = json.at("size");
    record.alignment = json.at("alignment");
    read(json.at("fields"), record.fields);
    record.doc = json.value("doc", "");
}

static void read(const Json &json, Enumerator &enumerator) {
    enumerator.name = json.at("name");
    enumerator.value = json.at("value");
    enumerator.doc = json.value("doc", "");
}

static void read(const Json &json, Enum &each) {
    each.name = json.at("name");
    each.type = json.at("type");
    read(json.at("enumerators"), each.enumerators);
    each.doc = json.value("doc", "");
}

static void read(const Json &json, Opaque &opaque) {
    opaque.name = json.at("name");
    opaque.doc = json.value("doc", "");
}

static void read(const Json &json, Constant &constant) {
    constant.name = json.at("name");
    constant.value = json.at("value");
    constant.doc = json.value("doc", "");
}

static void read(const Json &json, Alias &alias) {
    alias.name = json.at("name");
    alias.target = json.at("target");
}

std::string text_of(const Description &description) {
    std::string text = "{\n";
    write(text, "constants", description.constants);
    write(text, "enums", description.enums);
    write(text, "opaques", description.opaques);
    write(text, "records", description.records);
    write(text, "callbacks", description.callbacks);
    write(text, "functions", description.functions);
    write(text, "aliases", description.aliases, true);
    return text + "}\n";
}

Description description_of(const std::string &text) {
    const Json json = Json::parse(text);
    Description description;
    read(json.at("constants"), description.constants);
    read(json.at("enums"), description.enums);
    read(json.at("opaques"), description.opaques);
    read(json.at("records"), description.records);
    read(json.at("callbacks"), description.callbacks);
    read(json.at("functions"), description.functions);
    read(json.at("aliases"), description.aliases);
    return description;
}

}  // namespace bindgen
