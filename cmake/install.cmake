# Installs the library, the plugins, the headers, and the files that find_package() and pkg-config read.
# With Python everything goes to entrepot/, which scikit-build-core maps to the package's folder.
# Without Python, GNUInstallDirs names the folders.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
if(ENTREPOT_PYTHON)
    set(library_folder entrepot)
    set(include_folder entrepot/include)
    set(cmake_folder entrepot/cmake)
else()
    set(library_folder "${CMAKE_INSTALL_LIBDIR}")
    set(include_folder "${CMAKE_INSTALL_INCLUDEDIR}")
    set(cmake_folder "${CMAKE_INSTALL_LIBDIR}/cmake/entrepot")
endif()

# entrepot::headers is for extensions that link nothing.
add_library(entrepot_headers INTERFACE)
add_library(entrepot::headers ALIAS entrepot_headers)
target_include_directories(entrepot_headers INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
set_target_properties(entrepot_headers PROPERTIES EXPORT_NAME headers)
target_compile_features(entrepot_headers INTERFACE cxx_std_20)
foreach(target entrepot entrepot_headers)
    target_include_directories(${target} INTERFACE $<INSTALL_INTERFACE:${include_folder}>)
endforeach()

# A wheel has no symbolic links, and the targets need none.
set(namelink)
if(ENTREPOT_PYTHON)
    set(namelink NAMELINK_SKIP)
endif()
install(TARGETS entrepot entrepot_headers EXPORT entrepot LIBRARY DESTINATION "${library_folder}" ${namelink})
foreach(plugin entrepot_cuda entrepot_hip entrepot_sycl9)
    if(TARGET ${plugin})
        install(TARGETS ${plugin} LIBRARY DESTINATION "${library_folder}")
    endif()
endforeach()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" DESTINATION "${include_folder}")

install(EXPORT entrepot NAMESPACE entrepot:: FILE entrepotTargets.cmake DESTINATION "${cmake_folder}")
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/entrepotConfig.cmake.in" "${PROJECT_BINARY_DIR}/entrepotConfig.cmake"
                              INSTALL_DESTINATION "${cmake_folder}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/entrepotConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/entrepotConfig.cmake" "${PROJECT_BINARY_DIR}/entrepotConfigVersion.cmake"
        DESTINATION "${cmake_folder}")

if(ENTREPOT_PYTHON)
    set(include_from_libraries include)
else()
    file(RELATIVE_PATH include_from_libraries "${CMAKE_INSTALL_FULL_LIBDIR}" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
endif()
set(assertions)
if(asserts)
    set(assertions -DENTREPOT_ASSERTIONS)
endif()
configure_file("${CMAKE_CURRENT_LIST_DIR}/entrepot.pc.in" "${PROJECT_BINARY_DIR}/entrepot.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/entrepot.pc" DESTINATION "${library_folder}/pkgconfig")
