// The shared libraries that are mapped in this process, by SONAME. The copy that is mapped first
// serves the whole process.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace entrepot {

struct MappedLibrary {
    std::string soname;  // libsycl.so.9
    std::string path;
};

// Those whose SONAME begins with `prefix`.
std::vector<MappedLibrary> mapped_libraries(std::string_view prefix);
std::optional<MappedLibrary> mapped_library(std::string_view soname);

// The directory of the library that this code is in.
std::string own_directory();
// Returns: folders of the same site-packages that have runtimes, for programs without Python. Empty
//          if this library is in no site-packages.
std::vector<std::string> package_directories();
// The path without its last part; `.` if it has only one.
std::string directory_of(const std::string &path);

}  // namespace entrepot
