// Writes program text line by line and tracks the source line of each.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

namespace entrepot::kernel {

class Writer {
public:
    void line(std::string_view text) {
        if (!text.empty() && text[0] != '#')
            text_.append(depth_ * 4, ' ');
        text_.append(text).push_back('\n');
        ++next_line_;
    }
    void open(std::string_view head) {
        line(head.empty() ? "{" : std::string(head) + " {");
        ++depth_;
    }
    // Closes a block and opens another one on the same line: `} else {`.
    void reopen(std::string_view between) {
        --depth_;
        open("} " + std::string(between));
    }
    void close(std::string_view after = "}") {
        --depth_;
        line(after);
    }
    // Label at the end of a block, indented like the block.
    void label(std::string_view name) {
        --depth_;
        line(std::string(name) + ":;");
        ++depth_;
    }

    // Maps the next line to line `wanted` of the source; writes #line only if the compiler's own
    // count differs.
    void set_source_line(std::string_view file, std::int32_t wanted) {
        if (next_line_ == wanted && file == file_)
            return;
        text_ += "#line " + std::to_string(wanted) + " \"";
        std::ranges::transform(file, std::back_inserter(text_),
                               [](char c) { return is_plain(c) ? c : '_'; });
        text_ += "\"\n";
        next_line_ = wanted;
        file_ = file;
    }

    const std::string &text() const noexcept { return text_; }

private:
    // True for characters that every compiler accepts in the path of a #line directive. A line
    // break ends the directive. SYCL's compiler ends the path at an escaped quote, and `??/` is a
    // backslash in OpenCL C.
    static bool is_plain(char c) noexcept {
        const auto code = static_cast<unsigned char>(c);
        return code >= 0x20 && code != 0x7f && c != '"' && c != '\\' && c != '?';
    }

    std::string text_, file_;
    std::size_t depth_ = 0;
    std::int32_t next_line_ = -1;
};

}  // namespace entrepot::kernel
