/* Definitions that hipRAND's headers need in C: they name two types as only C++ allows. */
#ifndef HIPRAND_C_H
#define HIPRAND_C_H

typedef unsigned short __half;
typedef struct rocrand_generator_base_type rocrand_generator_base_type;

#endif
