#include "device/mapped.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <system_error>

namespace entrepot {
namespace {

// The SONAME in the library's dynamic section; empty where it has none.
std::string_view soname_of(const dl_phdr_info &library) {
    const char *strings = nullptr;
    std::optional<ElfW(Xword)> soname;
    for (int i = 0; i < library.dlpi_phnum; ++i) {
        if (library.dlpi_phdr[i].p_type != PT_DYNAMIC)
            continue;
        const auto *entry =
            reinterpret_cast<const ElfW(Dyn) *>(library.dlpi_addr + library.dlpi_phdr[i].p_vaddr);
        for (; entry->d_tag != DT_NULL; ++entry) {
            if (entry->d_tag == DT_STRTAB)
                strings = reinterpret_cast<const char *>(entry->d_un.d_ptr);
            else if (entry->d_tag == DT_SONAME)
                soname = entry->d_un.d_val;
        }
    }
    if (!strings || !soname)
        return {};
    // glibc relocates the address of the strings in place; other loaders, and the vdso, leave the
    // offset.
    if (reinterpret_cast<ElfW(Addr)>(strings) < library.dlpi_addr)
        strings += library.dlpi_addr;
    return strings + *soname;
}

struct Search {
    std::string_view prefix;
    std::vector<MappedLibrary> found;
};

}  // namespace

std::vector<MappedLibrary> mapped_libraries(std::string_view prefix) {
    Search search{prefix, {}};
    dl_iterate_phdr(
        [](dl_phdr_info *library, std::size_t, void *user) {
            auto &wanted = *static_cast<Search *>(user);
            const std::string_view soname = soname_of(*library);
            if (soname.starts_with(wanted.prefix))
                wanted.found.push_back({std::string(soname), library->dlpi_name});
            return 0;
        },
        &search);
    return std::move(search.found);
}

std::optional<MappedLibrary> mapped_library(std::string_view soname) {
    std::vector<MappedLibrary> found = mapped_libraries(soname);
    const auto exact = std::ranges::find(found, soname, &MappedLibrary::soname);
    return exact == found.end() ? std::nullopt : std::optional(std::move(*exact));
}

std::string own_directory() {
    Dl_info here;
    if (!dladdr(reinterpret_cast<const void *>(&own_directory), &here))
        return ".";
    // The loader keeps the `..` of a program's run path.
    std::error_code failed;
    const auto path = std::filesystem::canonical(here.dli_fname, failed);
    return directory_of(failed ? here.dli_fname : path.string());
}

std::vector<std::string> package_directories() {
    const std::string packages = directory_of(own_directory());
    if (!packages.ends_with("/site-packages") && !packages.ends_with("/dist-packages"))
        return {};
    return {packages + "/../..", packages + "/nvidia/cu13/lib", packages + "/nvidia/cuda_nvrtc/lib",
            packages + "/_rocm_sdk_core/lib"};
}

std::string directory_of(const std::string &path) {
    const std::size_t slash = path.rfind('/');
    return slash == path.npos ? "." : path.substr(0, slash);
}

}  // namespace entrepot
