# Language, warnings and sanitizers of every target of Entrepot.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# libentrepot.so and the extension share a process with other extensions: only symbols that are
# exported by name may be visible.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

# A separate target, so that third-party headers (nanobind, SYCL) are exempt from the warnings.
add_library(entrepot_warnings INTERFACE)
# In a unity build (cmake/unity.cmake) -Wshadow compares local names with unnamed namespaces of
# other files. GCC can exclude these.
set(entrepot_is_unity $<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>)
target_compile_options(entrepot_warnings INTERFACE -Wall -Wextra $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety> $<$<NOT:${entrepot_is_unity}>:-Wshadow>
                                                   $<$<AND:${entrepot_is_unity},$<COMPILE_LANG_AND_ID:CXX,GNU>>:-Wshadow=local>
                                                   -Wnon-virtual-dtor -Woverloaded-virtual
                                                   $<$<BOOL:${ENTREPOT_WERROR}>:-Werror>)
# GCC 12 reports the empty side of a std::optional as uninitialized, and `"text" + string` as an
# overlapping copy. Sanitizers detect real cases.
target_compile_options(entrepot_warnings INTERFACE
                       $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-error=maybe-uninitialized -Wno-error=restrict>)

# Every function begins at a cache line. Otherwise an edit moves unrelated functions, and rows of
# `benchmarks adapters` become slower with the same instructions.
add_compile_options($<$<CONFIG:Release,RelWithDebInfo>:-falign-functions=64>)

# Enables ENTREPOT_ASSERT (include/entrepot/core/assert.hpp).
set(asserts ${ENTREPOT_ASSERTIONS})
if(asserts STREQUAL "AUTO")
    set(asserts OFF)
    if(ENTREPOT_SANITIZE OR ENTREPOT_TESTS)
        set(asserts ON)
    endif()
endif()
if(asserts)
    add_compile_definitions(ENTREPOT_ASSERTIONS)
endif()

if(ENTREPOT_SANITIZE)
    add_compile_options(-fsanitize=${ENTREPOT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    add_link_options(-fsanitize=${ENTREPOT_SANITIZE})
    # GCC's manual: this warning has false positives together with sanitizers.
    add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
endif()

# Standard headers that most files include, precompiled.
set(entrepot_usual_headers <algorithm> <array> <atomic> <functional> <map> <memory> <mutex> <optional> <span> <string> <string_view>
                           <utility> <vector>)

find_package(Threads REQUIRED)
