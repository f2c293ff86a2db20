// bindgen LIBRARY.toml DESCRIPTION.json MODULE.py [-IDIRECTORY]...
//
// Reads the headers that LIBRARY.toml names and writes DESCRIPTION.json. From that it writes the
// module, its stub beside it, and beside the description a report of what default rules decided.
// Without -I it reads the existing description instead.
#include "describe.hpp"
#include "description.hpp"
#include "library.hpp"
#include "python.hpp"

#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string_view>

namespace bindgen {
namespace {

std::string read_file(const std::string &path) {
    std::ifstream file(path);
    if (!file)
        throw std::runtime_error(path + " cannot be read");
    return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string &path, const std::string &text) {
    std::ofstream file(path);
    file << text;
    if (!file.flush())
        throw std::runtime_error(path + " cannot be written");
}

}  // namespace
}  // namespace bindgen

int main(int count, char **arguments) try {
    using namespace bindgen;
    if (count < 4) {
        std::cerr << "usage: bindgen LIBRARY.toml DESCRIPTION.json MODULE.py [-IDIRECTORY]...\n";
        return 2;
    }
    const std::string description_file = arguments[2], module_file = arguments[3];
    const LibrarySettings settings = read_settings(arguments[1]);
    std::vector<std::string> directories;
    for (int i = 4; i < count; ++i) {
        const std::string_view given = arguments[i];
        if (!given.starts_with("-I"))
            throw std::runtime_error("'" + std::string(given) +
                                     "': a folder of headers was expected, as -I" +
                                     std::string(given));
        directories.emplace_back(given.substr(2));
    }
    if (count > 4)
        write_file(description_file, text_of(describe(settings, directories)));
    const Written written = write_python(settings, description_of(read_file(description_file)));
    write_file(module_file, written.module);
    write_file(module_file + "i", written.stub);
    write_file(description_file.substr(0, description_file.rfind('.')) + ".report", written.report);
} catch (const std::exception &error) {
    std::cerr << "bindgen: " << error.what() << '\n';
    return 1;
}
