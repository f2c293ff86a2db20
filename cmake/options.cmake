# Options of the build. Optional hardware is switched here and nowhere else.
option(ENTREPOT_PYTHON "Build the Python extension entrepot._core" ON)
option(ENTREPOT_TESTS "Build the C++ tests (needs doctest)" OFF)
option(ENTREPOT_BENCHMARKS "Build the C++ benchmarks" OFF)
option(ENTREPOT_SYCL "Build the SYCL backend (needs the headers of intel-sycl-rt)" ON)
option(ENTREPOT_CUDA "Build the CUDA backend (needs the headers of nvidia-cuda-runtime and nvidia-cuda-nvrtc)" ON)
option(ENTREPOT_HIP "Build the HIP backend (needs nothing of HIP's)" ON)
option(ENTREPOT_WERROR "Treat warnings as errors" OFF)

set(ENTREPOT_UNITY_BUILD "OFF" CACHE STRING "Compile the files of each folder as one, for trees that are compiled from nothing: ON, OFF or names of targets")
set(ENTREPOT_ASSERTIONS "AUTO" CACHE STRING "Check ENTREPOT_ASSERT: ON, OFF, or AUTO, which is ON with tests or a sanitizer")
set(ENTREPOT_SANITIZE "" CACHE STRING "Sanitizers to compile with: empty, \"address,undefined\" or \"thread\"")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Kind of build" FORCE)
endif()
