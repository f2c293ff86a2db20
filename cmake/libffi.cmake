# libffi for the ffi room: the static library where it can go into a shared one, so that an installed package needs none of the
# system's; the shared one elsewhere.
find_path(FFI_INCLUDE_DIR ffi.h PATH_SUFFIXES ffi libffi)
# Debian's libffi_pic.a is libffi.a by another name; other systems' libffi.a may or may not be position-independent.
find_library(FFI_LIBRARY NAMES libffi_pic.a ffi)
if(NOT FFI_INCLUDE_DIR OR NOT FFI_LIBRARY)
    message(FATAL_ERROR "libffi is needed to call libraries from Python: apt-get install libffi-dev (or tell CMake FFI_INCLUDE_DIR and FFI_LIBRARY)")
endif()
add_library(entrepot_libffi INTERFACE)
target_include_directories(entrepot_libffi SYSTEM INTERFACE "${FFI_INCLUDE_DIR}")
target_link_libraries(entrepot_libffi INTERFACE "${FFI_LIBRARY}")
