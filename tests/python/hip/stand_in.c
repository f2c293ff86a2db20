// A HIP library whose device is the host: memory comes from malloc, work runs when it is enqueued,
// and there are two kernels. For the examples of HIP Python's documentation on machines without a
// device.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, NOT_FOUND = 500 };
typedef struct {
    uint32_t x, y, z;
} dim3;

// ---------------------------------------------------------------- devices

int hipDeviceGetAttribute(int *value, int attribute, int device) {
    *value = 1000 + attribute;
    return device ? INVALID_VALUE : SUCCESS;
}
int hipDeviceTotalMem(size_t *bytes, int device) {
    *bytes = 1 << 30;
    return device ? INVALID_VALUE : SUCCESS;
}
struct properties {
    char name[256], identifiers[32];
    size_t memory, memory_of_block;
    int registers, warp;
    size_t pitch;
    int threads, block[3], grid[3];
    char rest[812], architecture[256], more[56];
};
_Static_assert(offsetof(struct properties, architecture) == 1160 &&
                   sizeof(struct properties) == 1472,
               "as in HIP 6 and 7");
int hipGetDevicePropertiesR0600(struct properties *found, int device) {
    *found = (struct properties){.name = "stand-in", .architecture = "gfx90a"};
    hipDeviceTotalMem(&found->memory, device);
    hipDeviceGetAttribute(&found->warp, 87, device);
    hipDeviceGetAttribute(&found->threads, 56, device);
    for (int axis = 0; axis < 3; ++axis) {
        hipDeviceGetAttribute(found->block + axis, 26 + axis, device);
        hipDeviceGetAttribute(found->grid + axis, 29 + axis, device);
    }
    return device ? INVALID_VALUE : SUCCESS;
}

// ---------------------------------------------------------------- memory

int hipMalloc(void **memory, size_t bytes) {
    return (*memory = malloc(bytes)) ? SUCCESS : INVALID_VALUE;
}
int hipFree(void *memory) {
    free(memory);
    return SUCCESS;
}
int hipMemcpy(void *to, const void *from, size_t bytes, int kind) {
    if (kind < 0 || kind > 4)
        return INVALID_VALUE;
    memmove(to, from, bytes);
    return SUCCESS;
}
int hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream) {
    return hipMemcpy(to, from, bytes, kind);
}
int hipMemcpyHtoD(void *to, const void *from, size_t bytes) {
    return hipMemcpy(to, from, bytes, 1);
}
int hipMemcpyDtoH(void *to, const void *from, size_t bytes) {
    return hipMemcpy(to, from, bytes, 2);
}
int hipMemcpyDtoD(void *to, const void *from, size_t bytes) {
    return hipMemcpy(to, from, bytes, 3);
}
int hipMemcpy2D(char *to, size_t to_pitch, const char *from, size_t from_pitch, size_t width,
                size_t height, int kind) {
    for (size_t row = 0; row < height; ++row)
        hipMemcpy(to + row * to_pitch, from + row * from_pitch, width, kind);
    return SUCCESS;
}
int hipMemset(void *to, int byte, size_t bytes) {
    memset(to, byte, bytes);
    return SUCCESS;
}
int hipMemsetAsync(void *to, int byte, size_t bytes, void *stream) {
    return hipMemset(to, byte, bytes);
}

// ---------------------------------------------------------------- streams and events

int hipStreamCreate(void **stream) { return hipMalloc(stream, 1); }
int hipStreamCreateWithFlags(void **stream, unsigned flags) { return hipStreamCreate(stream); }
int hipStreamSynchronize(void *stream) { return SUCCESS; }
int hipStreamDestroy(void *stream) { return hipFree(stream); }
int hipDeviceSynchronize(void) { return SUCCESS; }

int hipEventCreate(struct timespec **event) { return hipMalloc((void **)event, sizeof **event); }
int hipEventCreateWithFlags(struct timespec **event, unsigned flags) {
    return hipEventCreate(event);
}
int hipEventRecord(struct timespec *event, void *stream) {
    clock_gettime(CLOCK_MONOTONIC, event);
    return SUCCESS;
}
int hipEventSynchronize(struct timespec *event) { return SUCCESS; }
int hipEventElapsedTime(float *milliseconds, const struct timespec *from,
                        const struct timespec *to) {
    *milliseconds =
        (float)((to->tv_sec - from->tv_sec) * 1e3 + (to->tv_nsec - from->tv_nsec) * 1e-6);
    return SUCCESS;
}
int hipEventDestroy(struct timespec *event) { return hipFree(event); }

// ---------------------------------------------------------------- the kernels

// Arguments with the layout of a compiler.
struct arguments {
    float factor;
    int n;
    short unused1;
    int unused2;
    float unused3;
    float *x;
};

static void scale_vector(const struct arguments *given, int threads) {
    printf("factor: %f, n: %d, unused: %d %d %f\n", given->factor, given->n, given->unused1,
           given->unused2, given->unused3);
    for (int tid = 0; tid < threads; ++tid)
        if (tid < given->n)
            given->x[tid] *= given->factor;
}

static void print_tid(int threads) {
    for (int tid = 0; tid < threads; ++tid)
        printf("tid: %d\n", tid);
}

int hipModuleLoadData(void **module, const char *code) {
    if (memcmp(code,
               "\x7f"
               "ELF",
               4))
        return INVALID_VALUE;
    return hipMalloc(module, 1);
}
int hipModuleUnload(void *module) { return hipFree(module); }
int hipModuleGetFunction(const char **function, void *module, const char *name) {
    *function = !strcmp(name, "scale_vector") || !strcmp(name, "print_tid") ? name : 0;
    return *function ? SUCCESS : NOT_FOUND;
}
int hipModuleLaunchKernel(const char *function, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx,
                          uint32_t by, uint32_t bz, uint32_t shared, void *stream,
                          void **parameters, void **extra) {
    if (gy * gz * by * bz != 1)  // the examples have one dimension
        return INVALID_VALUE;
    if (extra && (extra[0] != (void *)1 || extra[2] != (void *)2 || extra[4] != (void *)3))
        return INVALID_VALUE;
    if (extra && *(size_t *)extra[3] != sizeof(struct arguments))
        return INVALID_VALUE;
    if (!strcmp(function, "print_tid") == !!extra)
        return INVALID_VALUE;
    if (extra)
        scale_vector(extra[1], (int)(gx * bx));
    else
        print_tid((int)bx);
    return SUCCESS;
}

// ---------------------------------------------------------------- graphs

// Copies, one after the other.
typedef struct graph {
    struct graph *next;
    void *to;
    const void *from;
    size_t bytes;
} graph;

int hipGraphCreate(graph **made, unsigned flags) {
    return (*made = calloc(1, sizeof **made)) ? SUCCESS : INVALID_VALUE;
}
int hipGraphAddMemcpyNode1D(graph **node, graph *to, graph *const *after, size_t count,
                            void *destination, const void *source, size_t bytes, int kind) {
    graph *last = to;
    while (last->next)
        last = last->next;
    if (count > 1 || (count == 1 && *after != last))
        return INVALID_VALUE;
    last->next = calloc(1, sizeof *last);
    *last->next = (graph){0, destination, source, bytes};
    *node = last->next;
    return SUCCESS;
}
int hipGraphInstantiate(graph **executable, graph *from, graph **error, char *log, size_t size) {
    *executable = from;
    return SUCCESS;
}
int hipGraphLaunch(const graph *executable, void *stream) {
    while ((executable = executable->next))
        memmove(executable->to, executable->from, executable->bytes);
    return SUCCESS;
}
int hipGraphExecDestroy(graph *executable) { return SUCCESS; }
int hipGraphDestroy(graph *it) {
    for (graph *next; it; it = next) {
        next = it->next;
        free(it);
    }
    return SUCCESS;
}
