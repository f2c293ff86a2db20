// ENTREPOT_API and ENTREPOT_LOCAL: the visibility of single declarations. The library is compiled
// with hidden visibility.
//
// Public headers declare everything with default visibility, by a pragma. Extensions compile some
// of them without the library: dtype.hpp, assert.hpp and those of python/. These are hidden
// instead. In them, each function of the library is marked ENTREPOT_API. A few private headers are
// exported for the extension module.
//
// Mutable variables of exported headers are defined in source files: an inline one would exist in
// the library and once more in the module. Constant tables are ENTREPOT_LOCAL. Each binary has
// its own, and no binary reads the shorter table of another version.
#pragma once

#if __cplusplus < 202002L
#error "entrepot needs C++20: compile with -std=c++20 (GCC from 12, Clang from 14)"
#endif

#define ENTREPOT_API [[gnu::visibility("default")]]
#define ENTREPOT_LOCAL [[gnu::visibility("hidden")]]
