#include "comment.hpp"

#include <clang-c/Documentation.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>
#include <sstream>

namespace bindgen {
namespace {

// Collapses white space to one space, and trims the ends.
std::string squeezed(const std::string &text) {
    std::string out;
    for (const char each : text)
        if (!std::isspace(static_cast<unsigned char>(each)))
            out += each;
        else if (!out.empty() && out.back() != ' ')
            out += ' ';
    while (!out.empty() && out.back() == ' ')
        out.pop_back();
    return out;
}

// Text inside a paragraph: plain text, \p x, HTML.
std::string inline_text(CXComment comment) {
    switch (clang_Comment_getKind(comment)) {
    case CXComment_Text:
        return taken(clang_TextComment_getText(comment)) + " ";
    case CXComment_InlineCommand: {
        std::string text;
        for (unsigned i = 0; i < clang_InlineCommandComment_getNumArgs(comment); ++i)
            text += taken(clang_InlineCommandComment_getArgText(comment, i)) + " ";
        return text;
    }
    default:
        break;
    }
    std::string text;
    for (unsigned i = 0; i < clang_Comment_getNumChildren(comment); ++i)
        text += inline_text(clang_Comment_getChild(comment, i));
    return text;
}

std::string paragraph_text(CXComment comment) { return squeezed(inline_text(comment)); }

void append(std::string &text, const std::string &paragraph) {
    if (!paragraph.empty())
        text += (text.empty() ? "" : "\n\n") + paragraph;
}

// @{ and @} group the declarations between them. libclang returns the group's text with the first
// one's.
bool is_group_mark(const std::string &paragraph) {
    static constexpr const char *marks[] = {"@{", "@}", "@ {", "@ }", "\\{", "\\}"};
    return std::any_of(std::begin(marks), std::end(marks),
                       [&](const char *mark) { return paragraph.starts_with(mark); });
}

bool is_rule(const std::string &paragraph) {
    return paragraph.find_first_not_of("-=* ") == std::string::npos;
}

// Removes the stars of the comment's left border, and an end of a group after it.
std::string own_words(std::string paragraph) {
    while (paragraph.starts_with("* "))
        paragraph.erase(0, 2);
    for (const char *end : {" @}", " @ }"})
        if (paragraph.ends_with(end))
            paragraph.erase(paragraph.rfind(end));
    return paragraph;
}

// @note, @warning and the like keep their names; commands for pages of a manual do not.
void add_command(Comment &out, const std::string &name, const std::string &text) {
    if (name == "brief" || name == "short" || name == "details")
        append(out.text, text);
    else if (name == "return" || name == "returns" || name == "result")
        append(out.returns, text);
    else if (name == "see" || name == "sa")
        append(out.text, text.empty() ? "" : "See: " + text);
    else if (name == "note" || name == "warning" || name == "bug" || name == "deprecated" ||
             name == "attention") {
        std::string title = name;
        title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(title[0])));
        append(out.text, text.empty() ? "" : title + ": " + text);
    }
}

// If a code block holds something like a command, libclang up to 14 misses its end and goes on to
// the end of the file. So the block is ended with the comment.
std::string verbatim_text(CXComment comment) {
    std::string text;
    for (unsigned i = 0; i < clang_Comment_getNumChildren(comment); ++i) {
        std::istringstream lines(
            taken(clang_VerbatimBlockLineComment_getText(clang_Comment_getChild(comment, i))));
        for (std::string line; std::getline(lines, line);) {
            const std::size_t first = line.find_first_not_of(" \t");
            if (first != std::string::npos && line[first] == '*')
                line.erase(0, first + 1);
            if (line.find("*/") != std::string::npos ||
                line.find("@endcode") != std::string::npos ||
                (!line.empty() && line.front() == '/'))
                return text;
            text += (text.empty() ? "   " : "\n   ") + line;
        }
    }
    return text;
}

void add_paragraph(Comment &out, const std::string &paragraph, bool &is_of_group) {
    is_of_group |= is_group_mark(paragraph);
    if (!is_group_mark(paragraph) && !is_rule(paragraph))
        append(out.text, own_words(paragraph));
}

// `is_of_group`: the text before belongs to a group, and the declaration's own begins with @brief.
void add_part(Comment &out, CXComment part, bool &is_of_group) {
    switch (clang_Comment_getKind(part)) {
    case CXComment_Paragraph:
        add_paragraph(out, paragraph_text(part), is_of_group);
        break;
    case CXComment_BlockCommand: {
        const std::string name = taken(clang_BlockCommandComment_getCommandName(part));
        if (is_of_group && name == "brief")
            out.text.clear();
        is_of_group &= name != "brief";
        add_command(out, name, paragraph_text(part));
        break;
    }
    case CXComment_ParamCommand: {
        ParameterComment &parameter =
            out.parameters[taken(clang_ParamCommandComment_getParamName(part))];
        parameter.text = paragraph_text(part);
        if (clang_ParamCommandComment_isDirectionExplicit(part)) {
            const auto direction = clang_ParamCommandComment_getDirection(part);
            parameter.direction = direction == CXCommentParamPassDirection_In    ? "in"
                                  : direction == CXCommentParamPassDirection_Out ? "out"
                                                                                 : "inout";
        }
        break;
    }
    case CXComment_VerbatimBlockCommand:
        append(out.text, verbatim_text(part));
        break;
    default:
        break;
    }
}

}  // namespace

std::string taken(CXString string) {
    const char *text = clang_getCString(string);
    std::string out = text ? text : "";
    clang_disposeString(string);
    return out;
}

Comment comment_of(CXCursor cursor) {
    Comment out;
    const CXComment whole = clang_Cursor_getParsedComment(cursor);
    bool is_of_group = false;
    for (unsigned i = 0; i < clang_Comment_getNumChildren(whole); ++i)
        add_part(out, clang_Comment_getChild(whole, i), is_of_group);
    return out;
}

}  // namespace bindgen
