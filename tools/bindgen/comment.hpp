// Comment: a parsed doxygen comment.
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

// Converts a libclang string, and disposes of it.
std::string taken(CXString string);

}  // namespace bindgen
