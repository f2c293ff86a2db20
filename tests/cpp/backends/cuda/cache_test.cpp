// The cache on disk: kept entries are found, damaged ones are not, and concurrent writers do not
// clash.
#include "backends/cache.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace entrepot::backends {
namespace {

namespace fs = std::filesystem;

fs::path place() { return fs::path(std::getenv("ENTREPOT_CACHE_DIR")) / "cuda"; }

// Points the cache to another folder while it lives.
struct Variable {
    Variable(const char *of, const char *value)
        : name(of), before(std::getenv(of) ? std::getenv(of) : ""), was_set(std::getenv(of)) {
        value ? setenv(name, value, 1) : unsetenv(name);
    }
    ~Variable() { was_set ? setenv(name, before.c_str(), 1) : unsetenv(name); }
    const char *const name;
    const std::string before;
    const bool was_set;
};

}  // namespace

TEST_CASE("entry is found by its key only") {
    const std::string content("a\0b\nc", 5);
    CHECK_FALSE(cached("cuda", "some key"));
    keep_cached("cuda", "some key", content);
    CHECK(cached("cuda", "some key") == content);
    CHECK_FALSE(cached("cuda", "some other key"));
    keep_cached("cuda", "some key", "newer");
    CHECK(cached("cuda", "some key") == "newer");
}

TEST_CASE("file modified in place gets a new stamp") {
    const fs::path file = fs::path(std::getenv("ENTREPOT_CACHE_DIR")) / "library";
    std::ofstream(file) << "first";
    const std::string first = stamp_of(file);
    CHECK_FALSE(first.empty());
    CHECK(stamp_of(file) == first);
    const fs::file_time_type written = fs::last_write_time(file);
    fs::last_write_time(file, written + std::chrono::seconds(1));
    CHECK(stamp_of(file) != first);
    std::ofstream(file) << "longer";
    fs::last_write_time(file, written);
    CHECK(stamp_of(file) != first);
    fs::remove(file);
    CHECK(stamp_of(file).empty());
}

TEST_CASE("all spellings of an include directive are recognized") {
    for (const char *const source : {"#include \"k.h\"",
                                     "#include\"k.h\"",
                                     "# include \"k.h\"",
                                     "#\tinclude \"k.h\"",
                                     " int x;\n  #include/**/\"k.h\"",
                                     "#/* a comment\n */ include \"k.h\"",
                                     "#\\\ninclude \"k.h\"",
                                     "#inc\\\nlude \"k.h\"",
                                     "#inc\\\r\nlude \"k.h\"",
                                     "%:include \"k.h\"",
                                     "?\?=include \"k.h\"",
                                     "#include </a/k.h>",
                                     "#include < /a/k.h>",
                                     "#include <../k.h>",
                                     "#include <a/../../k.h>",
                                     "#include HEADER",
                                     "#include",
                                     "#include <",
                                     "#include_next <k.h>",
                                     "#import <k.h>",
                                     "#embed \"k\"",
                                     "asm(\".incbin \\\"k\\\"\");",
                                     "#if __has_include(\"k.h\")",
                                     "#include <cmath>\n#include \"k.h\""})
        CHECK_MESSAGE(names_files(source), source);
    for (const char *const source :
         {"", "#", "int include = 1;", "#define include", "#includes", "#include <cmath>",
          "# include <sys/types.h>", "#include <cuda/std/complex>",
          "void embed(int *import); // \"k.h\"", "#define A(x) #x\n#pragma once"})
        CHECK_FALSE_MESSAGE(names_files(source), source);
    CHECK(names_files("#include <cmath>", Angled::anywhere));
    CHECK_FALSE(names_files("#define include", Angled::anywhere));
}

TEST_CASE("include path in the environment makes any header a file") {
    for (const char *const name : {"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"}) {
        const Variable added(name, "/some/where");
        CHECK(names_files("#include <cmath>"));
        CHECK_FALSE(names_files("int x;"));
    }
}

TEST_CASE("options_name_files is true for unknown options") {
    for (const std::string line : {"helper.cpp",
                                   "@file",
                                   "-I/x",
                                   "-include x.h",
                                   "--include=x.h",
                                   "--include x.h",
                                   "-isystem/x",
                                   "-imacros x.h",
                                   "-iquote/x",
                                   "-Wp,-include,x.h",
                                   "-Wl,-T,x.ld",
                                   "-Wa,x",
                                   "-Xlinker x.ld",
                                   "-Xclang -load",
                                   "-Xpreprocessor -include",
                                   "-specs=x",
                                   "-fprofile-use",
                                   "-fprofile-use=x",
                                   "-fauto-profile",
                                   "-fbranch-probabilities",
                                   "-fplugin=x.so",
                                   "-fpass-plugin=x.so",
                                   "-fmodule-file=x",
                                   "-fmodules",
                                   "-fsanitize-ignorelist=x",
                                   "-fuse-ld=/x",
                                   "-B/x",
                                   "-L/x",
                                   "-lx",
                                   "-T x.ld",
                                   "--sysroot=/x",
                                   "--config=x",
                                   "-gcc-toolchain",
                                   "--gcc-toolchain=/x",
                                   "-resource-dir=/x",
                                   "-mllvm -load=x",
                                   "-mlink-builtin-bitcode x",
                                   "-DX=__has_include(<x>)",
                                   "-D X=__has_include(<x>)",
                                   "-o x",
                                   "-unheard-of"}) {
        std::istringstream stream(line);
        const std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
        CHECK_MESSAGE(options_name_files(words), line);
    }
    for (const std::string line : {"",
                                   "-DX",
                                   "-DX=/a/b",
                                   "-D X=1",
                                   "-U X",
                                   "-UX",
                                   "-O2",
                                   "-Ofast",
                                   "-std=c++20",
                                   "-w",
                                   "-Wall",
                                   "-Wno-x",
                                   "-g",
                                   "-g3",
                                   "-ggdb",
                                   "-march=native",
                                   "-mavx2",
                                   "-mno-avx512f",
                                   "-m64",
                                   "-ffast-math",
                                   "-fopenmp",
                                   "-funroll-loops",
                                   "-ffp-contract=off",
                                   "-fsanitize=address",
                                   "-pthread",
                                   "--param=x=1"}) {
        std::istringstream stream(line);
        const std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
        CHECK_FALSE_MESSAGE(options_name_files(words), line);
    }
    const std::vector<std::string> own{"-cl-fast-relaxed-math"};
    const std::string_view known[] = {"-cl-"};
    CHECK(options_name_files(own));
    CHECK_FALSE(options_name_files(own, known));
}

TEST_CASE("cache file or folder writable by other users is not used") {
    keep_cached("cuda", "guarded", "x");
    for (const fs::directory_entry &entry : fs::directory_iterator(place()))
        fs::permissions(entry.path(), fs::perms::group_write, fs::perm_options::add);
    CHECK_FALSE(cached("cuda", "guarded"));
    keep_cached("cuda", "guarded", "y");
    CHECK(cached("cuda", "guarded") == "y");
    fs::permissions(place(), fs::perms::others_write, fs::perm_options::add);
    CHECK_FALSE(cached("cuda", "guarded"));
    CHECK(cache_obstacle("cuda").find("others may write") != std::string::npos);
    fs::permissions(place(), fs::perms::others_write, fs::perm_options::remove);
    CHECK(cached("cuda", "guarded") == "y");
    CHECK(cache_obstacle("cuda").empty());
}

TEST_CASE("folder of one kind is not read for another") {
    keep_cached("cuda", "moved", "x");
    fs::rename(place(), place().parent_path() / "hip");
    CHECK_FALSE(cached("hip", "moved"));
    fs::rename(place().parent_path() / "hip", place());
    CHECK(cached("cuda", "moved") == "x");
}

TEST_CASE("truncated or changed file is ignored") {
    keep_cached("cuda", "damaged", std::string(1000, 'x'));
    for (const fs::directory_entry &entry : fs::directory_iterator(place())) {
        std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
        const std::string all{std::istreambuf_iterator<char>(file), {}};
        if (all.find("damaged") == all.npos)
            continue;
        file.clear();
        file.seekp(-5, std::ios::end);
        file.put('y');
        file.close();
        CHECK_FALSE(cached("cuda", "damaged"));
        for (const std::size_t size :
             {all.size() - 1, all.size() / 2, std::size_t{3}, std::size_t{0}}) {
            std::ofstream(entry.path(), std::ios::binary) << all.substr(0, size);
            CHECK_FALSE(cached("cuda", "damaged"));
        }
    }
    keep_cached("cuda", "damaged", "whole again");
    CHECK(cached("cuda", "damaged") == "whole again");
}

TEST_CASE("concurrent writers of one key leave one complete file") {
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int number = 0; number < 4; ++number)
        threads.emplace_back([&, number] {
            const std::string mine(100'000, static_cast<char>('a' + number));
            for (int round = 0; round < 50; ++round) {
                keep_cached("cuda", "contended", mine);
                const auto seen = cached("cuda", "contended");
                wrong += !seen || seen->size() != 100'000 ||
                         seen->find_first_not_of(seen->front()) != seen->npos;
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    CHECK(wrong == 0);
    for (const fs::directory_entry &entry : fs::directory_iterator(place()))
        CHECK(entry.path().extension().empty());
}

TEST_CASE("cache folder follows the environment and may be disabled") {
    const std::string base = std::getenv("ENTREPOT_CACHE_DIR");
    {
        const Variable off("ENTREPOT_CACHE_DIR", "");
        keep_cached("cuda", "nowhere", "x");
        CHECK_FALSE(cached("cuda", "nowhere"));
    }
    {
        const Variable unset("ENTREPOT_CACHE_DIR", nullptr);
        const std::string xdg = base + "/xdg";
        const Variable moved("XDG_CACHE_HOME", xdg.c_str());
        keep_cached("cuda", "moved", "x");
        CHECK(fs::exists(xdg + "/entrepot/cuda"));
        const Variable relative("XDG_CACHE_HOME", "relative"),
            home("HOME", (base + "/home").c_str());
        keep_cached("cuda", "at home", "x");
        CHECK(fs::exists(base + "/home/.cache/entrepot/cuda"));
    }
    {
        const Variable forbidden("ENTREPOT_CACHE_DIR", "/proc/no/such/place");
        keep_cached("cuda", "forbidden", "x");
        CHECK_FALSE(cached("cuda", "forbidden"));
    }
}

}  // namespace entrepot::backends
