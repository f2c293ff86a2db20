/* Additions to hipRAND since ROCm 5.5 and 6.0, from ROCm's documentation, for older headers. */
#ifndef HIPRAND_LATER_H
#define HIPRAND_LATER_H

#include <hiprand/hiprand.h>

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The order of a generator's results in memory. */
typedef enum hiprandOrdering {
    HIPRAND_ORDERING_PSEUDO_BEST = 100,    /**< The best order for pseudorandom results. */
    HIPRAND_ORDERING_PSEUDO_DEFAULT = 101, /**< As HIPRAND_ORDERING_PSEUDO_BEST. */
    HIPRAND_ORDERING_PSEUDO_SEEDED = 102,  /**< Seeded for fast results of lower quality. */
    HIPRAND_ORDERING_PSEUDO_LEGACY = 103, /**< The same across releases, but not across backends. */
    HIPRAND_ORDERING_PSEUDO_DYNAMIC = 104, /**< Adjusted to the device, for the best speed. */
    HIPRAND_ORDERING_QUASI_DEFAULT = 201   /**< n-dimensional order for quasirandom results. */
} hiprandOrdering_t;

/** Sets of direction vectors of quasirandom generators. */
typedef enum hiprandDirectionVectorSet {
    HIPRAND_DIRECTION_VECTORS_32_JOEKUO6 = 101,
    HIPRAND_SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6 = 102,
    HIPRAND_DIRECTION_VECTORS_64_JOEKUO6 = 103,
    HIPRAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6 = 104
} hiprandDirectionVectorSet_t;

typedef unsigned int hiprandDirectionVectors32_t[32];
typedef unsigned long long hiprandDirectionVectors64_t[64];

/** Generates uniformly distributed 64-bit unsigned integers. */
hiprandStatus_t hiprandGenerateLongLong(hiprandGenerator_t generator,
                                        unsigned long long *output_data, size_t n);
/** Sets the order of a generator's results. */
hiprandStatus_t hiprandSetGeneratorOrdering(hiprandGenerator_t generator, hiprandOrdering_t order);
/** Writes the address of the direction vectors of Sobol's 32-bit generators. */
hiprandStatus_t hiprandGetDirectionVectors32(hiprandDirectionVectors32_t **vectors,
                                             hiprandDirectionVectorSet_t set);
/** Writes the address of the direction vectors of Sobol's 64-bit generators. */
hiprandStatus_t hiprandGetDirectionVectors64(hiprandDirectionVectors64_t **vectors,
                                             hiprandDirectionVectorSet_t set);
/** Writes the address of the scramble constants of Sobol's 32-bit generators. */
hiprandStatus_t hiprandGetScrambleConstants32(const unsigned int **constants);
/** Writes the address of the scramble constants of Sobol's 64-bit generators. */
hiprandStatus_t hiprandGetScrambleConstants64(const unsigned long long **constants);

#ifdef __cplusplus
}
#endif

#endif
