/* The C contract of a backend: what the device room asks of a runtime (SYCL, CUDA, HIP, the plain host).
 *
 * A backend is a table of functions, `ep_backend`. Its folder, src/backends/NAME, has one file per group of the table
 * (devices, contexts, queues, events, memory, programs, peer, ipc), in the order of this header. A backend that lives in a
 * shared library of its own exports `entrepot_backend`, links nothing of ours, and is never unloaded.
 *
 * Rules that hold for every function:
 *  - It returns a status; on anything but EP_OK it has called `loader->set_error` with a sentence first, on this thread,
 *    and has changed nothing. No exception and no signal leaves it.
 *  - Out-parameters are written on EP_OK only. Handles that it hands out are owned by the caller (one release each),
 *    devices excepted: those live as long as the process.
 *  - It may be called from any thread at once, on any handle.
 *  - It does not block unless its comment says "blocks".
 *
 * The table's version must match exactly until 1.0; `size` is sizeof(ep_backend) as the backend was compiled.
 */
#ifndef ENTREPOT_DEVICE_BACKEND_H
#define ENTREPOT_DEVICE_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EP_BACKEND_VERSION 7
#define EP_MAX_NDIM 64 /* of strided copies and fills */

typedef enum ep_status {
    EP_OK = 0,
    EP_INVALID = 1,       /* the arguments contradict each other or the device's limits */
    EP_OUT_OF_MEMORY = 2, /* the device or the host has no such block left */
    EP_UNSUPPORTED = 3,   /* this device or runtime cannot do it; the sentence says what can */
    EP_BUILD_FAILED = 4,  /* a program's source was refused; the log says why */
    EP_DEVICE_ERROR = 5,  /* the runtime reported an error, perhaps of earlier asynchronous work */
    EP_UNAVAILABLE = 6    /* the backend's runtime is not there, or another generation of it is in the process */
} ep_status;

/* What the loader lends to a backend. The strings are copied before the call returns. */
typedef struct ep_loader {
    size_t size;
    uint32_t version; /* EP_BACKEND_VERSION of the loader */
    void (*set_error)(const char *message);
    void (*log)(const char *message);
    /* The path of a shared library where packages put them; NULL: only the system can know. Lives until the next call on this
     * thread. */
    const char *(*find_library)(const char *file);
    /* The native queue that another library works with on this thread, on the device of that number of the backend ("cuda",
     * "hip"): it may be one that nobody here has a handle of. NULL: none is known. */
    void *(*foreign_queue)(const char *backend, uint32_t device);
    /* Compiled code could not be kept on disk; the message says where and why. The program is warned, once in each process. */
    void (*cache_unwritable)(const char *message);
} ep_loader;

typedef struct ep_device_s *ep_device;   /* one per device or sub-device, the same handle every time; immortal */
typedef struct ep_context_s *ep_context; /* counted */
typedef struct ep_queue_s *ep_queue;     /* counted */
typedef struct ep_event_s *ep_event;     /* counted */
typedef struct ep_program_s *ep_program; /* counted */
typedef struct ep_kernel_s *ep_kernel;   /* counted; keeps its program */

/* ---------------------------------------------------------------- devices */

typedef enum ep_device_type { EP_CPU = 0, EP_GPU = 1, EP_ACCELERATOR = 2 } ep_device_type;

typedef enum ep_aspect {
    EP_FP16 = 1u << 0,
    EP_FP64 = 1u << 1,
    EP_ATOMIC64 = 1u << 2,
    EP_USM_HOST_ALLOCATIONS = 1u << 3,
    EP_USM_DEVICE_ALLOCATIONS = 1u << 4,
    EP_USM_SHARED_ALLOCATIONS = 1u << 5,
    EP_PARTITION_EQUALLY = 1u << 6,
    EP_PARTITION_BY_COUNTS = 1u << 7,
    EP_PARTITION_BY_AFFINITY = 1u << 8,
    EP_PROFILING = 1u << 9,          /* queues can be created with EP_QUEUE_PROFILING */
    EP_READS_HOST_MEMORY = 1u << 10, /* kernels may be given ordinary host memory */
    EP_ORDERED_FREE = 1u << 11,      /* memory_allocate and memory_free take a queue and are ordered in it */
    EP_PEER_COPIES = 1u << 12,       /* memory_copy takes memory of every context of this backend, whatever the queue's */
    EP_GRAPH_CAPTURE = 1u << 13      /* queues may be captured into graphs: without it queue_capture is always 0 */
} ep_aspect;

typedef struct ep_device_info {
    const char *backend; /* the filter selector's word: "opencl", "level_zero", "cuda", "hip", "host" … */
    ep_device_type type;
    uint32_t number; /* position among the root devices of the same backend and type; a sub-device's is its own in its parent:
                        the first partition has 0, 1 …, another one goes on from there */
    const char *name, *vendor, *driver;                   /* immortal */
    uint64_t global_memory, local_memory, max_allocation; /* bytes */
    uint64_t max_work_group;                              /* work-items */
    uint64_t max_work_items[3];
    uint32_t compute_units;
    uint32_t max_sub_devices; /* 0 or 1: cannot be partitioned */
    uint32_t aspects;         /* of ep_aspect */
    int32_t score;            /* the runtime's default selector's; the highest root device is the default, negative: never */
} ep_device_info;

typedef enum ep_partition { EP_EQUALLY = 0, EP_BY_COUNTS = 1, EP_BY_AFFINITY = 2 } ep_partition;

typedef enum ep_affinity {
    EP_AFFINITY_NUMA = 0,
    EP_AFFINITY_L4,
    EP_AFFINITY_L3,
    EP_AFFINITY_L2,
    EP_AFFINITY_L1,
    EP_AFFINITY_NEXT
} ep_affinity;

/* ----------------------------------------------------------------- queues */

typedef enum ep_queue_flag { EP_QUEUE_PROFILING = 1u << 0, EP_QUEUE_OUT_OF_ORDER = 1u << 1 } ep_queue_flag;

/* ----------------------------------------------------------------- events */

typedef enum ep_event_flag {
    EP_EVENT_EXACT = 1u << 0, /* a host that waits for it goes on when it is done, though later work of the queue is not */
    EP_EVENT_PROMPT = 1u << 1 /* *event is NULL, and nothing marked, where it is seen that another thread would keep us: SYCL's
                               * backend sees it, CUDA's and HIP's have no way to, and mark */
} ep_event_flag;

/* ----------------------------------------------------------------- memory */

typedef enum ep_usm_kind {
    EP_USM_UNKNOWN = 0,
    EP_USM_HOST = 1,
    EP_USM_DEVICE = 2,
    EP_USM_SHARED = 3,
    EP_USM_UNASKED = 4 /* of ep_allocation only: known memory whose kind was not asked for */
} ep_usm_kind;

typedef enum ep_query_flag {
    EP_QUERY_DEVICE = 1u << 0,
    EP_QUERY_SIZE = 1u << 1,
    EP_QUERY_KIND_LATER = 1u << 2, /* the kind may be left EP_USM_UNASKED where that saves a question to the driver */
    EP_QUERY_KIND_ALONE = 1u << 3  /* nothing but the kind is wanted: the rest may be left empty */
} ep_query_flag;

typedef struct ep_allocation {
    /* EP_USM_UNKNOWN: not memory of this context, and nothing below is set. A backend whose contexts share one address space
     * (CUDA) answers in each for all of them: `device` says whose it is. */
    ep_usm_kind kind;
    ep_device device;  /* with EP_QUERY_DEVICE; NULL where the runtime does not know (host memory, some sub-devices) */
    void *base;        /* start of the allocation; NULL where the runtime cannot tell */
    uint64_t size;     /* with EP_QUERY_SIZE; 0 where the runtime cannot tell */
    int32_t contained; /* whether all bytes asked about lie in one allocation; -1 where the runtime cannot tell */
} ep_allocation;

/* A box of items, its strides in bytes. Both sides of a copy share `shape`. */
typedef struct ep_box {
    size_t ndim; /* 0 … EP_MAX_NDIM */
    size_t itemsize;
    const int64_t *shape;
} ep_box;

/* --------------------------------------------------------------- programs */

typedef enum ep_dialect {
    EP_OPENCL_C = 0,
    EP_SYCL_SOURCE = 1, /* free-function kernels, compiled by the SYCL runtime */
    EP_SPIRV = 2,
    EP_CUDA_CPP = 3,
    EP_PTX = 4,
    EP_CUBIN = 5,
    EP_HIP_CPP = 6,
    EP_CPP = 7,   /* host C++: see src/backends/host/programs.cpp for the form of a kernel */
    EP_HSACO = 8, /* code objects for AMD's GPUs, and bundles of them */
    EP_DIALECT_COUNT
} ep_dialect;

/* Where a program's build log goes; called zero or more times before the build returns. */
typedef struct ep_sink {
    void *user;
    void (*write)(void *user, const char *text, size_t length);
} ep_sink;

typedef enum ep_argument_kind {
    EP_ARG_POINTER = 0, /* `value` is the pointer itself, to memory that the device can reach */
    EP_ARG_BYTES = 1,   /* `size` bytes at `value`: a scalar or a struct */
    EP_ARG_LOCAL = 2    /* `size` bytes of local memory for each work-group */
} ep_argument_kind;

typedef struct ep_argument {
    ep_argument_kind kind;
    size_t size;
    const void *value;
} ep_argument;

typedef struct ep_range {
    uint32_t ndim; /* 1 … 3 */
    uint64_t
        global[3]; /* work-items; slowest dimension first, as in SYCL. Backends whose first dimension is the fastest reverse it */
    uint64_t local[3]; /* work-items of a group; all 0: the backend chooses */
} ep_range;

/* How the groups of a launch work together, where the device has that. */
typedef struct ep_cooperation {
    int32_t all_resident; /* 1: all groups run at once and may wait for each other (CUDA's cooperative launch) */
    uint64_t cluster[3];  /* groups of a cluster, in the order of ep_range, whose local memory its groups share; all 0: none */
} ep_cooperation;

typedef struct ep_kernel_info {
    uint64_t max_work_group;     /* work-items, of this kernel on that device */
    uint64_t preferred_multiple; /* of work-items in a group; 0 unknown */
    uint64_t local_memory;       /* bytes that the kernel uses by itself */
    uint64_t private_memory;     /* bytes a work-item; 0 unknown */
    uint32_t registers;          /* a work-item; 0 unknown */
    int32_t argument_count;      /* -1 unknown, or local memory is no argument to the language */
} ep_kernel_info;

/* -------------------------------------------------------------------- IPC */

typedef enum ep_ipc_form {
    EP_IPC_ANY = 0,    /* to export: the backend chooses, for processes of this machine */
    EP_IPC_FILE = 1,   /* an open file, which has to reach the other process; the memory is there while either has it */
    EP_IPC_DRIVER = 2, /* a name that the driver knows; the memory must stay as long as anybody has it open */
    EP_IPC_FABRIC = 3  /* a name that the drivers of several machines know; the memory is there while either has it */
} ep_ipc_form;

/* By what another process opens memory: plain data, but for the file. */
typedef struct ep_ipc_handle {
    uint32_t form; /* of ep_ipc_form */
    int32_t file;  /* of EP_IPC_FILE. Exported: the memory's own, open until that is closed. To open by: the caller's. Else -1 */
    uint64_t size; /* bytes of the whole allocation */
    uint64_t offset;    /* where in it the exported pointer lies */
    uint8_t device[16]; /* the same for a device in all processes; of the host all 0 */
    uint8_t name[64];   /* of EP_IPC_DRIVER and EP_IPC_FABRIC */
} ep_ipc_handle;

/* -------------------------------------------------------------- the table */

typedef struct ep_backend {
    size_t size;
    uint32_t version;
    const char *name; /* "host", "sycl", "cuda", "hip" */

    /* devices. Root devices are numbered as the runtime lists them (for SYCL: sycl::device::get_devices()). */
    ep_status (*device_count)(uint32_t *count); /* the first call may load drivers */
    ep_status (*device_at)(uint32_t index, ep_device *device);
    ep_status (*device_info)(ep_device device, ep_device_info *info);
    ep_status (*device_parent)(ep_device device, ep_device *parent); /* NULL for a root device */
    /* `counts`: EP_EQUALLY one number, compute units each; EP_BY_COUNTS `count` numbers; EP_BY_AFFINITY one ep_affinity.
     * Writes at most *sub_count handles to `sub` (may be NULL) and sets *sub_count to how many there are. */
    ep_status (*device_partition)(ep_device device, ep_partition how, const uint32_t *counts, size_t count, ep_device *sub,
                                  size_t *sub_count);
    ep_status (*device_from_native)(void *native, ep_device *device); /* sycl::device *, const CUdevice * … */
    ep_status (*device_native)(ep_device device, void **native);      /* the same form; lives as long as the process */
    /* For hash tables: what the C++ runtime's own std::hash gives, where there is one, so that other libraries' objects for the
     * same thing hash alike. Here, of contexts and of queues. */
    uint64_t (*device_hash)(ep_device device);
    ep_status (*device_default_context)(ep_device device, ep_context *context); /* of the platform, where there are platforms */

    /* contexts. While a handle lives, the same object of the runtime has that handle again; so too of queues. */
    ep_status (*context_create)(const ep_device *devices, size_t count, ep_context *context);
    ep_status (*context_from_native)(void *native, ep_context *context); /* sycl::context * (copied), CUcontext */
    ep_status (*context_native)(ep_context context, void **native);      /* lives as long as `context` */
    void (*context_release)(ep_context context);
    uint64_t (*context_hash)(ep_context context);
    ep_status (*context_is_default)(ep_context context, int32_t *is_default);
    ep_status (*context_devices)(ep_context context, ep_device *devices, size_t *count); /* as device_partition counts */

    /* queues. Those that are created are in order unless EP_QUEUE_OUT_OF_ORDER asks otherwise. */
    ep_status (*queue_create)(ep_context context, ep_device device, uint32_t flags, ep_queue *queue);
    /* sycl::queue * (copied), const CUstream *: legacy, per-thread (of this very thread) and ordinary ones. `context` is that
     * of a queue which does not know it by itself, as CUDA's default streams; NULL: the current one of this thread. */
    ep_status (*queue_from_native)(ep_context context, void *native, ep_queue *queue);
    ep_status (*queue_native)(ep_queue queue, void **native); /* the same form; lives as long as `queue` */
    void (*queue_release)(ep_queue queue);
    uint64_t (*queue_hash)(ep_queue queue);
    ep_status (*queue_context)(ep_queue queue, ep_context *context);
    ep_status (*queue_device)(ep_queue queue, ep_device *device);
    ep_status (*queue_flags)(ep_queue queue, uint32_t *flags);
    ep_status (*queue_wait)(ep_queue queue); /* blocks; reports errors of asynchronous work */
    /* The same for what came through this handle. Work of others may be waited for as well, or not: nobody is to rely on either.
     */
    ep_status (*queue_wait_submitted)(ep_queue queue);
    ep_status (*queue_is_idle)(ep_queue queue, int32_t *idle);
    /* Graph capture: while a stream is captured, what is submitted to it is written down and not run. The capture's number, the
     * same for all queues that it holds, and no other's ever; 0 while work runs. */
    ep_status (*queue_capture)(ep_queue queue, uint64_t *capture);
    /* Of a queue that is captured: `let_go(user)` is called once, when neither the graph nor anything made of it is there any
     * more; on any thread, and nothing of the runtime may be called there. */
    ep_status (*queue_keep)(ep_queue queue, void *user, void (*let_go)(void *user));

    /* events. In an out-of-order queue, event_record and event_wait_in_queue are barriers. Like any submission of "sycl", both
     * block while another thread waits for the queue, where that is one of OpenCL. */
    /* Done when all that the queue holds now is done. `flags` of ep_event_flag. */
    ep_status (*event_record)(ep_queue queue, uint32_t flags, ep_event *event);
    /* Done when all that the context holds now is done, also in queues that nobody here knows; EP_UNSUPPORTED where the runtime
     * cannot tell, EP_INVALID while it may not be asked because a queue of the context is captured. */
    ep_status (*event_record_context)(ep_context context, ep_event *event);
    /* Later work of `queue` waits; any context. Blocks only where a runtime cannot order the two by itself. */
    ep_status (*event_wait_in_queue)(ep_queue queue, ep_event event);
    /* Later work of `to` waits for all that `from`, another queue, holds now: recorded, waited for and released in one.
     * EP_UNSUPPORTED, and nothing waits, where `from` is captured: also where another thread begins that meanwhile. */
    ep_status (*event_hand_over)(ep_queue from, ep_queue to);
    ep_status (*event_wait)(ep_event event); /* blocks */
    ep_status (*event_is_done)(ep_event event, int32_t *done);
    ep_status (*event_seconds)(ep_event from, ep_event to, double *seconds); /* both done, of profiling queues */
    ep_status (*event_native)(ep_event event, void **native);                /* sycl::event *, CUevent */
    ep_status (*event_from_native)(void *native, ep_event *event);
    void (*event_release)(ep_event event);

    /* memory. `alignment` is a power of two, or 0 for the runtime's own. `queue` is NULL unless EP_ORDERED_FREE. */
    ep_status (*memory_allocate)(ep_context context, ep_device device, ep_usm_kind kind, size_t bytes, size_t alignment,
                                 ep_queue queue, void **pointer);
    ep_status (*memory_free)(ep_context context, void *pointer, ep_queue queue); /* may block: nothing may be pending on it */
    ep_status (*memory_query)(ep_context context, const void *pointer, size_t bytes, uint32_t flags, ep_allocation *found);
    /* Copies and fills are work of the queue. Either side may be ordinary host memory, which the caller keeps until done. */
    ep_status (*memory_copy)(ep_queue queue, void *to, const void *from, size_t bytes);
    ep_status (*memory_copy_strided)(ep_queue queue, const ep_box *box, void *to, const int64_t *to_strides, const void *from,
                                     const int64_t *from_strides); /* both sides are reachable by the device */
    ep_status (*memory_fill)(ep_queue queue, void *to, const void *item, size_t itemsize, size_t count);
    ep_status (*memory_fill_strided)(ep_queue queue, const ep_box *box, void *to, const int64_t *to_strides, const void *item);
    /* Gives what the runtime keeps of memory back to the system, where the queues that it was freed in have come past that.
     * Blocks. */
    ep_status (*memory_trim)(ep_device device);

    /* programs */
    ep_status (*program_dialects)(ep_device device,
                                  uint32_t *mask); /* bit 1 << ep_dialect; best first is the caller's business */
    ep_status (*program_build)(ep_context context, ep_device device, ep_dialect dialect, const char *source, size_t length,
                               const char *options, const ep_sink *log, ep_program *program); /* blocks */
    void (*program_release)(ep_program program);
    ep_status (*program_kernel)(ep_program program, const char *name, ep_kernel *kernel); /* blocks: it may compile a template */
    ep_status (*kernel_info)(ep_kernel kernel, ep_device device, ep_kernel_info *info);
    void (*kernel_release)(ep_kernel kernel);
    /* `cooperation` is NULL for groups that know nothing of each other. */
    ep_status (*kernel_launch)(ep_queue queue, ep_kernel kernel, const ep_range *range, const ep_cooperation *cooperation,
                               const ep_argument *arguments, size_t count);

    /* peer */
    ep_status (*peer_can_access)(ep_device device, ep_device peer, int32_t *can); /* once access is enabled */
    ep_status (*peer_enable_access)(ep_context context, ep_device peer);          /* for all work of `context` from now on */

    /* IPC. Memory that another process opens; a backend whose runtime cannot share any refuses with EP_UNSUPPORTED. */
    ep_status (*ipc_allocate)(ep_context context, ep_device device, ep_usm_kind kind, size_t bytes, void **pointer);
    /* By what to open the allocation that holds `pointer`: of ipc_allocate, of ipc_open, or other memory that the runtime can
     * share by EP_IPC_DRIVER. */
    ep_status (*ipc_export)(ep_context context, const void *pointer, ep_ipc_form form, ep_ipc_handle *handle);
    ep_status (*ipc_device)(const ep_ipc_handle *handle, ep_device *device); /* whose memory it is, as this process sees it */
    /* Blocks. *pointer: the start of the allocation. With `read_only`, no write comes through where the device can see to it. */
    ep_status (*ipc_open)(ep_context context, const ep_ipc_handle *handle, int32_t read_only, void **pointer);
    /* Blocks. Lets go of memory of ipc_allocate or ipc_open; nothing of ours may be pending on it. EP_UNSUPPORTED while it may
     * not be because a queue of the context is captured: ask again later. */
    ep_status (*ipc_close)(ep_context context, void *pointer);
} ep_backend;

/* What a plugin exports. On EP_OK *backend lives as long as the process. */
typedef ep_status (*ep_backend_entry)(const ep_loader *loader, const ep_backend **backend);
#define EP_BACKEND_ENTRY "entrepot_backend"

#ifdef __cplusplus
}
#endif
#endif
