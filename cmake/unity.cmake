# Unity builds for the sanitizers' trees. These spend most of their time on the standard library: on
# its headers, and on its templates, instrumented for each file. With ENTREPOT_UNITY_BUILD the files of
# each folder are compiled as one, in every target (ON) or in the targets that it names.
#
#     entrepot_unity_build(<target> [EXCLUDE <file>...])
#
# Call after all sources of the target are known. EXCLUDE are files, relative to the calling
# CMakeLists.txt, that are compiled on their own. These are files whose unnamed namespaces use a name
# of another file in their folder, and files of third parties.
#
#     entrepot_check_unity([<target>...])
#
# Call after the last target: refuses a name in ENTREPOT_UNITY_BUILD that is not a target. The arguments
# are targets that this tree may lack but that may be named anyway, as for wheels.
function(entrepot_unity_build target)
    set_property(GLOBAL APPEND PROPERTY entrepot_unity_targets ${target})
    # Quoted, so that it is true for CMake's boolean constants only, and not for a variable named
    # like a target.
    if(NOT "${ENTREPOT_UNITY_BUILD}" AND NOT target IN_LIST ENTREPOT_UNITY_BUILD)
        return()
    endif()
    cmake_parse_arguments(PARSE_ARGV 1 given "" "" EXCLUDE)
    list(TRANSFORM given_EXCLUDE PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/" OUTPUT_VARIABLE alone)
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
    # GCC treats an included file as a header, in which types of unnamed namespaces are suspect.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endfunction()

function(entrepot_check_unity)
    if("${ENTREPOT_UNITY_BUILD}" OR NOT ENTREPOT_UNITY_BUILD)
        return()
    endif()
    get_property(targets GLOBAL PROPERTY entrepot_unity_targets)
    list(APPEND targets ${ARGN})
    list(REMOVE_DUPLICATES targets)
    foreach(name ${ENTREPOT_UNITY_BUILD})
        if(NOT name IN_LIST targets)
            list(JOIN targets ", " there)
            message(FATAL_ERROR "ENTREPOT_UNITY_BUILD: no target of this tree is called '${name}'; say ON, OFF or some of ${there}")
        endif()
    endforeach()
endfunction()
