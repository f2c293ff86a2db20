# The language, the warnings and the sanitizers that every target of ours is compiled with.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# The static library ends up inside a Python extension that shares its process with other extensions:
# nothing of it may be visible there except what is exported by name.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

# A target of its own, so that other people's headers (nanobind, SYCL) are not held to our warnings.
add_library(entrepot_warnings INTERFACE)
# Of files that are compiled as one (cmake/together.cmake) -Wshadow would compare a file's local names with the unnamed namespaces
# of the others; GCC can leave these out.
set(entrepot_is_unity $<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>)
target_compile_options(entrepot_warnings INTERFACE -Wall -Wextra $<$<NOT:${entrepot_is_unity}>:-Wshadow>
                                                   $<$<AND:${entrepot_is_unity},$<COMPILE_LANG_AND_ID:CXX,GNU>>:-Wshadow=local>
                                                   -Wnon-virtual-dtor -Woverloaded-virtual
                                                   $<$<BOOL:${ENTREPOT_WERROR}>:-Werror>)
# GCC 12 takes the empty side of a std::optional for an uninitialised one, and finds that `"text" + string` copies bytes onto
# themselves; what is really so, the sanitizers find.
target_compile_options(entrepot_warnings INTERFACE
                       $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-error=maybe-uninitialized -Wno-error=restrict>)

# ENTREPOT_ASSERT (include/entrepot/core/assert.hpp) checks invariants where tests run.
if(ENTREPOT_SANITIZE OR ENTREPOT_TESTS)
    add_compile_definitions(ENTREPOT_ASSERTIONS)
endif()

if(ENTREPOT_SANITIZE)
    add_compile_options(-fsanitize=${ENTREPOT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    add_link_options(-fsanitize=${ENTREPOT_SANITIZE})
    # GCC's manual: together with sanitizers this one warns of what is not so.
    add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
endif()

# What most files include of the standard library, and would be read again for each.
set(entrepot_usual_headers <algorithm> <array> <atomic> <functional> <map> <memory> <mutex> <optional> <span> <string> <string_view>
                           <utility> <vector>)

find_package(Threads REQUIRED)
