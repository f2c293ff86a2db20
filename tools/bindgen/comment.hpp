// Comment: doxygen's, taken apart.
#pragma once
#include <clang-c/Index.h>

#include <map>
#include <string>

namespace bindgen {

struct ParameterComment {
    std::string direction, text;
};

struct Comment {
    std::string text;  // paragraphs with a blank line between; the brief first
    std::map<std::string, ParameterComment> parameters;
    std::string returns;
};

Comment comment_of(CXCursor cursor);

// A libclang string, disposed of.
std::string taken(CXString string);

}  // namespace bindgen
