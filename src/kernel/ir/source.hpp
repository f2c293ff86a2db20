// Parts of a Python function's source that its typed form refers to: positions and text for
// messages, and captured arrays.
#pragma once
#include <entrepot/core/dtype.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace entrepot::kernel {

// Source position. Lines count from 1, columns from 0 in bytes of UTF-8, as in Python's ast.
struct Position {
    std::int32_t line = 0, column = 0, end_line = 0, end_column = 0;
};

// Rules for the types of results: NumPy's with weak literals (docs/kernels/types.md), or Numba's.
enum class Typing : std::uint8_t { numpy, numba };

// Words of another kernel language, for messages about its functions.
struct Wording {
    std::map<std::string, std::string, std::less<>> names;  // of what named() encloses
    // Terms, as "work-item". The first one that a place of the text begins with is replaced, so
    // that longer ones stand first.
    std::vector<std::pair<std::string, std::string>> terms;
    bool x_first = false;  // tuples of the index space begin with the fastest dimension
};

// A Python function, as messages show it.
struct Source {
    std::string name;
    std::string file;    // as shown in messages
    std::string source;  // the text from line first_line on
    std::int32_t first_line = 1;
    Typing typing = Typing::numpy;
    std::shared_ptr<const Wording> wording = nullptr;  // null: entrepot.kernel's own

    // Returns: the line without its end; empty if the source does not have it.
    std::string_view line(std::int32_t number) const;
};

// A captured NumPy array: its elements in row-major order, as bytes.
struct ConstantArray {
    Dtype dtype;
    std::vector<std::int64_t> shape;
    std::vector<std::byte> bytes;
};

}  // namespace entrepot::kernel
