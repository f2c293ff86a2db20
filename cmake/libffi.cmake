# Finds libffi for src/ffi. The static library is preferred, if a shared one can contain it. Then an
# installed package does not need the system's libffi.
find_path(FFI_INCLUDE_DIR ffi.h PATH_SUFFIXES ffi libffi)
# Debian's libffi_pic.a is position-independent; other systems' libffi.a may not be.
find_library(FFI_LIBRARY NAMES libffi_pic.a ffi)
if(NOT FFI_INCLUDE_DIR OR NOT FFI_LIBRARY)
    message(FATAL_ERROR "libffi is needed to call libraries from Python: apt-get install libffi-dev (or tell CMake FFI_INCLUDE_DIR and FFI_LIBRARY)")
endif()
add_library(entrepot_libffi INTERFACE)
target_include_directories(entrepot_libffi SYSTEM INTERFACE "${FFI_INCLUDE_DIR}")
target_link_libraries(entrepot_libffi INTERFACE "${FFI_LIBRARY}")
