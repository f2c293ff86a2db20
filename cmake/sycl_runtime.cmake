# Finds the SYCL headers and library of the intel-sycl-rt wheel. Sets ENTREPOT_SYCL_PREFIX, the
# folder of include/sycl/sycl.hpp and lib/libsycl.so, and defines the target sycl_runtime.
#
# Python reports where the wheel's files are. In pip's isolated build environment, prefixes known to
# CMake or sysconfig are wrong. The result is not cached, because that environment changes each
# time.
if(NOT ENTREPOT_SYCL_PREFIX)
    find_package(Python 3.10 REQUIRED COMPONENTS Interpreter)
    execute_process(COMMAND ${Python_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/sycl_prefix.py
                    OUTPUT_VARIABLE ENTREPOT_SYCL_PREFIX OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
endif()

if(NOT EXISTS "${ENTREPOT_SYCL_PREFIX}/include/sycl/sycl.hpp")
    message(FATAL_ERROR
        "The SYCL backend was asked for (ENTREPOT_SYCL=ON), but ${Python_EXECUTABLE} has no intel-sycl-rt and "
        "ENTREPOT_SYCL_PREFIX is \"${ENTREPOT_SYCL_PREFIX}\", which has no include/sycl/sycl.hpp. Either\n"
        "  pip install intel-sycl-rt                 (the headers and the library come with it), or\n"
        "  -DENTREPOT_SYCL_PREFIX=<folder>           (of a SYCL compiler that you have), or\n"
        "  -DENTREPOT_SYCL=OFF                       (with pip: ENTREPOT_SYCL=OFF pip install .)")
endif()
message(STATUS "SYCL headers and library: ${ENTREPOT_SYCL_PREFIX}")

add_library(sycl_runtime INTERFACE)
target_include_directories(sycl_runtime SYSTEM INTERFACE "${ENTREPOT_SYCL_PREFIX}/include" "${ENTREPOT_SYCL_PREFIX}/include/sycl")
target_link_libraries(sycl_runtime INTERFACE "${ENTREPOT_SYCL_PREFIX}/lib/libsycl.so")
# The headers expect DPC++: without this definition, each include of sycl.hpp warns. GCC notes
# vectors passed by value.
target_compile_definitions(sycl_runtime INTERFACE SYCL_DISABLE_FSYCL_SYCLHPP_WARNING)
target_compile_options(sycl_runtime INTERFACE -Wno-psabi -Wno-deprecated-declarations)
# Executables find libsycl's own libraries beside it, at link time and at run time.
target_link_options(sycl_runtime INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:LINKER:-rpath-link,${ENTREPOT_SYCL_PREFIX}/lib>)
