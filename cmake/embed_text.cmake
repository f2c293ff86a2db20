# Writes sources, one after the other, as a C++ file that defines one string, for a compiler that
# reads source from memory. Their includes of each other are dropped.
#
# Usage: cmake -DSOURCES=A|B -DOUTPUT=text.cpp -DNAMESPACE=space -DNAME=text -P embed_text.cmake
string(REPLACE "|" ";" SOURCES "${SOURCES}")
set(text "")
set(names "")
foreach(source IN LISTS SOURCES)
    file(READ "${source}" part)
    string(REGEX REPLACE "#include \"[^\"]*\"\n|#pragma once\n" "" part "${part}")
    string(APPEND text "R\"walk(${part})walk\"\n")
    get_filename_component(name "${source}" NAME)
    list(APPEND names "${name}")
endforeach()
list(JOIN names " and " names)
file(WRITE "${OUTPUT}"
     "// Generated from ${names} by embed_text.cmake.\nnamespace ${NAMESPACE} {\nextern const char ${NAME}[];\n"
     "const char ${NAME}[] =\n${text};\n}  // namespace ${NAMESPACE}\n")
