// The main function of every C++ test executable.
// The first macro is needed since the header is precompiled, and included once already.
#define DOCTEST_CONFIG_IMPLEMENT
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
