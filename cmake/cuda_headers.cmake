# Finds the CUDA headers and NVRTC of NVIDIA's wheels. It sets ENTREPOT_CUDA_NVRTC, the library that
# compiles Entrepot's own kernels at build time. It defines the target cuda_headers. No library of
# NVIDIA is linked; the driver is loaded at run time.
#
# Python reports where the wheels' files are, as in sycl_runtime.cmake and for the same reasons.
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter)

set(prefix "${ENTREPOT_CUDA_PREFIX}")
if(NOT prefix)
    execute_process(COMMAND ${Python_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/cuda_prefix.py
                    OUTPUT_VARIABLE prefix OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
endif()

file(GLOB ENTREPOT_CUDA_NVRTC "${prefix}/lib/libnvrtc.so.1?" "${prefix}/lib64/libnvrtc.so.1?")
list(SORT ENTREPOT_CUDA_NVRTC ORDER DESCENDING)
if(ENTREPOT_CUDA_NVRTC)
    list(GET ENTREPOT_CUDA_NVRTC 0 ENTREPOT_CUDA_NVRTC)
endif()

if(NOT EXISTS "${prefix}/include/cuda.h" OR NOT EXISTS "${prefix}/include/nvrtc.h" OR NOT ENTREPOT_CUDA_NVRTC)
    message(FATAL_ERROR
        "The CUDA backend was asked for (ENTREPOT_CUDA=ON), but ${Python_EXECUTABLE} lacks nvidia-cuda-runtime or "
        "nvidia-cuda-nvrtc, and ENTREPOT_CUDA_PREFIX is \"${ENTREPOT_CUDA_PREFIX}\". Either\n"
        "  pip install nvidia-cuda-runtime nvidia-cuda-nvrtc   (no toolkit and no GPU is needed), or\n"
        "  -DENTREPOT_CUDA_PREFIX=<folder>                     (of a toolkit that you have), or\n"
        "  -DENTREPOT_CUDA=OFF                                 (with pip: ENTREPOT_CUDA=OFF pip install .)")
endif()
message(STATUS "CUDA headers and NVRTC: ${prefix}")

add_library(cuda_headers INTERFACE)
target_include_directories(cuda_headers SYSTEM INTERFACE "${prefix}/include")
