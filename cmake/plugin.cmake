# Plugins: modules that each hold a backend, are installed beside libentrepot.so and are opened at run
# time.
#
#     entrepot_add_plugin(<target> <source>...)
#
# A plugin links nothing of libentrepot. It has its own copy of the code that backends share, and of
# checked_mutex.cpp, whose list of held mutexes it cannot share. It exports the names of
# backends/exports.map only. The linker refuses a name there that the plugin does not define.
function(entrepot_add_plugin target)
    set(backends "${PROJECT_SOURCE_DIR}/src/backends")
    add_library(${target} MODULE ${ARGN} "${backends}/cache.cpp" "${backends}/processor.cpp"
                                 "${PROJECT_SOURCE_DIR}/src/core/checked_mutex.cpp")
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
    target_link_libraries(${target} PRIVATE ${CMAKE_DL_LIBS} entrepot_warnings)
    target_link_options(${target} PRIVATE "LINKER:--version-script=${backends}/exports.map,--no-undefined-version")
    # One folder for all, which ENTREPOT_PLUGIN_PATH names in tests.
    set_target_properties(${target} PROPERTIES LINK_DEPENDS "${backends}/exports.map"
                                               LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/plugins")
endfunction()
