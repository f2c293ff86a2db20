/* What hipRAND's headers need besides themselves where C reads them: they name two types as only C++ may. */
#ifndef HIPRAND_C_H
#define HIPRAND_C_H

typedef unsigned short __half;
typedef struct rocrand_generator_base_type rocrand_generator_base_type;

#endif
