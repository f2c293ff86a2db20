/* Additions to hipRTC since HIP 5.3, from ROCm's documentation, for older headers. */
#ifndef HIPRTC_LATER_H
#define HIPRTC_LATER_H

#include <hip/hiprtc.h>
#include <hip/linker_types.h>

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef hipJitOption hiprtcJIT_option;
typedef hipJitInputType hiprtcJITInputType;
typedef struct ihiprtcLinkState *hiprtcLinkState;

/** The bytes of the bitcode that the program was compiled to. */
hiprtcResult hiprtcGetBitcodeSize(hiprtcProgram prog, size_t *bitcode_size);
/** Copies the bitcode of a program that was compiled with -fgpu-rdc. */
hiprtcResult hiprtcGetBitcode(hiprtcProgram prog, char *bitcode);
/** Begins to link. */
hiprtcResult hiprtcLinkCreate(unsigned int num_options, hiprtcJIT_option *option_ptr,
                              void **option_vals_pptr, hiprtcLinkState *hip_link_state_ptr);
/** Adds a file. */
hiprtcResult hiprtcLinkAddFile(hiprtcLinkState hip_link_state, hiprtcJITInputType input_type,
                               const char *file_path, unsigned int num_options,
                               hiprtcJIT_option *options_ptr, void **option_values);
/** Adds what is in memory. */
hiprtcResult hiprtcLinkAddData(hiprtcLinkState hip_link_state, hiprtcJITInputType input_type,
                               void *image, size_t image_size, const char *name,
                               unsigned int num_options, hiprtcJIT_option *options_ptr,
                               void **option_values);
/** Links what was added: returns the address of the binary and its bytes, which live as long as the
 * linker. */
hiprtcResult hiprtcLinkComplete(hiprtcLinkState hip_link_state, void **bin_out, size_t *size_out);
/** Ends the linker. */
hiprtcResult hiprtcLinkDestroy(hiprtcLinkState hip_link_state);

#ifdef __cplusplus
}
#endif

#endif
