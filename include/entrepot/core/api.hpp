// ENTREPOT_API: exported by libentrepot.so, which is compiled with hidden visibility.
//
// Public headers give it to the namespace, and so to every declaration in it. A few private headers
// do so too, because entrepot._core uses them. Their variables are defined in source files: an
// inline variable would exist once in the library and once more in entrepot._core.
#pragma once

#define ENTREPOT_API [[gnu::visibility("default")]]
