# What the sanitizers' trees spend on a file of ours is the standard library's: its headers, and its templates instrumented for
# each file anew. With ENTREPOT_TOGETHER the files of a folder are therefore compiled as one: those of every target (ON), or of the
# targets that it names.
#
#     entrepot_compile_together(<target> [ALONE <file>...])
#
# after all sources of the target are known. ALONE are those in whose unnamed namespaces something is called as in another file of
# their folder, by their paths from the folder of the calling CMakeLists.txt; so is what somebody else has written.
#
#     entrepot_check_together([<target>...])
#
# after the last target: refuses names of targets that are none. A tree may be without those that are given, and they are named all
# the same, as for wheels.
function(entrepot_compile_together target)
    set_property(GLOBAL APPEND PROPERTY entrepot_together_targets ${target})
    # Quoted, it is true where it is one of CMake's words for that, and no name of a target's.
    if(NOT "${ENTREPOT_TOGETHER}" AND NOT target IN_LIST ENTREPOT_TOGETHER)
        return()
    endif()
    cmake_parse_arguments(PARSE_ARGV 1 given "" "" ALONE)
    list(TRANSFORM given_ALONE PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/" OUTPUT_VARIABLE alone)
    get_target_property(sources ${target} SOURCES)
    foreach(source ${sources})
        cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
        cmake_path(IS_PREFIX PROJECT_BINARY_DIR "${source}" is_generated)
        if(source IN_LIST alone OR is_generated OR source MATCHES "[$]<")  # the last are objects of other targets
            continue()
        endif()
        cmake_path(GET source PARENT_PATH folder)
        cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
        string(MAKE_C_IDENTIFIER "${folder}" folder)
        set_source_files_properties("${source}" PROPERTIES UNITY_GROUP ${folder})
    endforeach()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    # GCC takes a file that is included for a header, which may hold no type of an unnamed namespace.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endfunction()

function(entrepot_check_together)
    if("${ENTREPOT_TOGETHER}" OR NOT ENTREPOT_TOGETHER)
        return()
    endif()
    get_property(targets GLOBAL PROPERTY entrepot_together_targets)
    list(APPEND targets ${ARGN})
    list(REMOVE_DUPLICATES targets)
    foreach(name ${ENTREPOT_TOGETHER})
        if(NOT name IN_LIST targets)
            list(JOIN targets ", " there)
            message(FATAL_ERROR "ENTREPOT_TOGETHER: no target of this tree is called '${name}'; say ON, OFF or some of ${there}")
        endif()
    endforeach()
endfunction()
