/* The C interface of a backend: a runtime (SYCL, CUDA, HIP, the plain host) as
 * include/entrepot/device uses it.
 *
 * A backend is a table of functions, `ep_backend`. Its folder, src/backends/NAME, has one file per
 * group of the table, in the order of this header. The groups are devices, contexts, queues,
 * events, memory, programs, peer, ipc and graphs. A backend in a shared library of its own exports
 * `entrepot_backend` and perhaps EP_BACKEND_DRIVER_PATH (below), does not link Entrepot, and is
 * never unloaded.
 *
 * Rules that hold for every function of the table:
 *  - It returns a status, except for the releases and the hashes, which do not fail. On anything
 *    but EP_OK it has called `loader->set_error` with a sentence first, on this thread, and has
 *    changed nothing. No exception and no signal leaves it.
 *  - Out-parameters are written on EP_OK only. Handles that it hands out are owned by the caller
 *    (one release each), devices excepted: those live as long as the process.
 *  - It is thread-safe, for any handles.
 *  - It does not wait for work of a device unless its comment says "blocks". Any function may wait
 *    inside the runtime, for a lock or for space in a launch queue.
 *
 * The table's version must match exactly until 1.0; `size` is sizeof(ep_backend) as the backend was
 * compiled.
 */
#ifndef ENTREPOT_DEVICE_BACKEND_H
#define ENTREPOT_DEVICE_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EP_BACKEND_VERSION 11
#define EP_MAX_NDIM 64 /* of strided copies and fills */
#define EP_IPC_NAME_SIZE 256

typedef enum ep_status {
    EP_OK = 0,
    EP_INVALID = 1,       /* The arguments contradict each other or the device's limits. */
    EP_OUT_OF_MEMORY = 2, /* The device or the host has no such block left. */
    /* This device or runtime does not support it. The message names what does. */
    EP_UNSUPPORTED = 3,
    EP_BUILD_FAILED = 4, /* A program's source was refused. The log has the reason. */
    EP_DEVICE_ERROR = 5, /* The runtime reported an error, perhaps of earlier asynchronous work. */
    EP_UNAVAILABLE = 6   /* The runtime is absent, or another generation of it is in the process. */
} ep_status;

/* Functions of the loader for a backend. The strings are copied before the call returns. */
typedef struct ep_loader {
    size_t size;
    uint32_t version; /* EP_BACKEND_VERSION of the loader */
    void (*set_error)(const char *message);
    void (*log)(const char *message);
    /* The path of a shared library of a package. NULL: the system has to find it. The string lives
     * until the next call on this thread. */
    const char *(*find_library)(const char *file);
    /* The native queue that another library works with on this thread, for device `device` of the
     * backend ("cuda", "hip"). It may have no handle here. NULL: no such queue is known. */
    void *(*foreign_queue)(const char *backend, uint32_t device);
    /* Compiled code could not be written to disk; the message says where and why. Warns the program
     * once in each process. */
    void (*cache_unwritable)(const char *message);
} ep_loader;

/* one per device or sub-device, the same handle every time; immortal */
typedef struct ep_device_s *ep_device;
typedef struct ep_context_s *ep_context; /* counted */
typedef struct ep_queue_s *ep_queue;     /* counted */
typedef struct ep_event_s *ep_event;     /* counted */
typedef struct ep_program_s *ep_program; /* counted */
typedef struct ep_kernel_s *ep_kernel;   /* counted; keeps its program */
typedef struct ep_graph_s *ep_graph;     /* not counted: one release destroys it */

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
    EP_PROFILING = 1u << 9,          /* Queues can be created with EP_QUEUE_PROFILING. */
    EP_READS_HOST_MEMORY = 1u << 10, /* Kernels can use ordinary host memory. */
    /* memory_allocate and memory_free take a queue and are ordered in it. */
    EP_ORDERED_FREE = 1u << 11,
    /* The function memory_copy takes memory of all contexts of this backend. */
    EP_PEER_COPIES = 1u << 12,
    /* Queues may be captured into graphs. Without it queue_capture is always 0. */
    EP_GRAPH_CAPTURE = 1u << 13,
    EP_PINS_PAGES = 1u << 14 /* The function memory_pin takes whole pages of the system. */
} ep_aspect;

typedef struct ep_device_info {
    /* The filter selector's word: "opencl", "level_zero", "cuda", "hip", "host" … */
    const char *backend;
    ep_device_type type;
    uint32_t number; /* The position among the root devices of the same backend and type, or among
                        the sub-devices of the parent. The first partition has 0, 1 …, another one
                        goes on from there. */
    const char *name, *vendor, *driver;                   /* immortal */
    uint64_t global_memory, local_memory, max_allocation; /* bytes */
    uint64_t max_work_group;                              /* work-items */
    uint64_t max_work_items[3];
    uint32_t compute_units;
    uint32_t max_sub_devices; /* 0 or 1: cannot be partitioned */
    uint32_t aspects;         /* of ep_aspect */
    int32_t score; /* the runtime's default selector's; the highest root device is the default,
                      negative: never */
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

typedef enum ep_queue_flag {
    EP_QUEUE_PROFILING = 1u << 0,
    EP_QUEUE_OUT_OF_ORDER = 1u << 1
} ep_queue_flag;

/* ----------------------------------------------------------------- events */

typedef enum ep_event_flag {
    EP_EVENT_EXACT = 1u << 0, /* A host that waits for it continues when it is done, even if later
                                 work of the queue is not. */
    EP_EVENT_PROMPT =
        1u << 1 /* Records nothing and sets *event to NULL if another thread would make the call
                 * block. SYCL's backend detects that. CUDA's and HIP's cannot, and record. */
} ep_event_flag;

/* ----------------------------------------------------------------- memory */

typedef enum ep_usm_kind {
    EP_USM_UNKNOWN = 0,
    EP_USM_HOST = 1,
    EP_USM_DEVICE = 2,
    EP_USM_SHARED = 3,
    /* A result of memory_query only (EP_QUERY_KIND_LATER): known memory whose kind was not asked
     * for. memory_allocate does not take it. */
    EP_USM_UNASKED = 4
} ep_usm_kind;

typedef enum ep_query_flag {
    EP_QUERY_DEVICE = 1u << 0,
    EP_QUERY_SIZE = 1u << 1,
    /* The kind may be EP_USM_UNASKED, if that saves a driver call. */
    EP_QUERY_KIND_LATER = 1u << 2,
    EP_QUERY_KIND_ALONE = 1u << 3 /* Only the kind is needed. The rest may be left empty. */
} ep_query_flag;

typedef struct ep_allocation {
    /* EP_USM_UNKNOWN: not memory of this context, and nothing below is set. A backend whose
     * contexts share one address space (CUDA) answers in each for all of them. Then `device` is the
     * device of the memory. */
    ep_usm_kind kind;
    ep_device device; /* With EP_QUERY_DEVICE. NULL if unknown (host memory, some sub-devices). */
    void *base;       /* Start of the allocation. NULL if unknown. */
    uint64_t size;    /* With EP_QUERY_SIZE. 0 if unknown. */
    /* 1 if all bytes of the range lie in one allocation, else 0. -1 if unknown. Allocations that
     * their library has mapped one after the other count as one. */
    int32_t contained;
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
    EP_CPP = 7,   /* host C++: the page "Programs" has the form of a kernel */
    EP_HSACO = 8, /* code objects for AMD's GPUs, and bundles of them */
    EP_DIALECT_COUNT
} ep_dialect;

/* Receives a program's build log. Called zero or more times before the build returns. */
typedef struct ep_sink {
    void *user;
    void (*write)(void *user, const char *text, size_t length);
} ep_sink;

typedef enum ep_argument_kind {
    EP_ARG_POINTER = 0, /* The value is the pointer itself, to memory that the device can reach. */
    EP_ARG_BYTES = 1,   /* A scalar or a struct of `size` bytes at `value`. */
    EP_ARG_LOCAL = 2    /* Local memory of `size` bytes for each work-group. */
} ep_argument_kind;

typedef struct ep_argument {
    ep_argument_kind kind;
    size_t size;
    const void *value;
} ep_argument;

typedef struct ep_range {
    uint32_t ndim;      /* 1 … 3 */
    uint64_t global[3]; /* Work-items, slowest dimension first, as in SYCL. CUDA and HIP reverse the
                           order. */
    uint64_t local[3];  /* Work-items of a group. All 0: the backend chooses. */
} ep_range;

/* Cooperation of the groups of a launch, if the device supports it. */
typedef struct ep_cooperation {
    int32_t all_resident; /* 1: all groups run at once and may wait for each other (CUDA's
                             cooperative launch). */
    uint64_t cluster[3]; /* Groups of a cluster, which share local memory, in the order of ep_range.
                            All 0: no clusters. */
} ep_cooperation;

typedef struct ep_kernel_info {
    uint64_t max_work_group;     /* Work-items of this kernel on that device. */
    uint64_t preferred_multiple; /* Preferred factor of a group's size. 0: unknown. */
    uint64_t local_memory;       /* Bytes that the kernel itself declares. */
    uint64_t private_memory;     /* Bytes for each work-item. 0: unknown. */
    uint32_t registers;          /* For each work-item. 0: unknown. */
    int32_t argument_count; /* -1: unknown, or local memory is not an argument in this language. */
} ep_kernel_info;

/* -------------------------------------------------------------------- IPC */

typedef enum ep_ipc_form {
    EP_IPC_ANY = 0,  /* For an export: the backend chooses, for processes of this machine. */
    EP_IPC_FILE = 1, /* An open file, which has to reach the other process. The memory lives while a
                        process has it. */
    EP_IPC_DRIVER = 2, /* A name that the driver knows. The memory must live as long as a process
                          has it open. */
    EP_IPC_FABRIC = 3, /* A name that the drivers of several machines know. The memory lives while a
                          process has it. */
    EP_IPC_POOL = 4 /* An open file of a pool, and the driver's name of the memory in it. The memory
                       must live as long as a process has it open. */
} ep_ipc_form;

/* The data by which another process opens memory: plain data, except for the file. */
typedef struct ep_ipc_handle {
    uint32_t form; /* One of ep_ipc_form. */
    int32_t file;  /* EP_IPC_FILE and EP_IPC_POOL. A file to open by is the caller's. Else -1. */
    int32_t owns_file;  /* 1: the caller of ipc_export closes the file. 0: the memory does. */
    uint32_t name_size; /* Bytes of `name`. */
    uint64_t size;      /* Bytes of the whole allocation. */
    uint64_t offset;    /* Offset of the exported pointer in it. */
    uint8_t device[16]; /* Identifies the device in all processes. All 0 for the host. */
    uint8_t name[EP_IPC_NAME_SIZE]; /* For EP_IPC_DRIVER, EP_IPC_FABRIC and EP_IPC_POOL. */
} ep_ipc_handle;

/* The data by which another process opens an event: plain data, except for the file. */
typedef struct ep_ipc_event {
    /* A file of the process that records the event. It is locked (F_OFD_SETLK) while that process
     * lives, and open there as long. A file to open by is the caller's. */
    int32_t file;
    int32_t process;                /* The process that records the event. */
    uint32_t name_size;             /* Bytes of `name`. */
    uint8_t name[EP_IPC_NAME_SIZE]; /* Tells it from the other events of the process. */
} ep_ipc_event;

/* ----------------------------------------------------------------- graphs */

typedef enum ep_node_kind {
    EP_NODE_LAUNCH = 0,
    EP_NODE_COPY = 1, /* of contiguous bytes */
    EP_NODE_COPY_STRIDED = 2,
    EP_NODE_FILL = 3,
    EP_NODE_FILL_STRIDED = 4
} ep_node_kind;

/* One piece of work of a graph: the arguments of the function of the table that submits it, without
 * the queue. */
typedef struct ep_node {
    ep_node_kind kind;
    union {
        struct {
            ep_kernel kernel;
            const ep_range *range;
            const ep_cooperation *cooperation; /* NULL for independent groups */
            const ep_argument *arguments;
            size_t count;
        } launch;
        struct {
            void *to;
            const void *from;
            size_t bytes;
        } copy;
        struct {
            const ep_box *box;
            void *to;
            const int64_t *to_strides;
            const void *from;
            const int64_t *from_strides;
        } copy_strided;
        struct {
            void *to;
            const void *item;
            size_t itemsize, count;
        } fill;
        struct {
            const ep_box *box;
            void *to;
            const int64_t *to_strides;
            const void *item;
        } fill_strided;
    } of;
} ep_node;

/* -------------------------------------------------------------- the table */

typedef struct ep_backend {
    size_t size;
    uint32_t version;
    const char *name; /* "host", "sycl", "cuda", "hip" */

    /* devices. Root devices are numbered as the runtime lists them (for SYCL:
     * sycl::device::get_devices()). */
    ep_status (*device_count)(uint32_t *count); /* the first call may load drivers */
    ep_status (*device_at)(uint32_t index, ep_device *device);
    ep_status (*device_info)(ep_device device, ep_device_info *info);
    ep_status (*device_parent)(ep_device device, ep_device *parent); /* NULL for a root device */
    /* Numbers in `counts`: the compute units of each (EP_EQUALLY), of every one (EP_BY_COUNTS), or
     * one ep_affinity (else). Writes at most *sub_count handles to `sub` (may be NULL) and sets
     * *sub_count to how many there are. */
    ep_status (*device_partition)(ep_device device, ep_partition how, const uint32_t *counts,
                                  size_t count, ep_device *sub, size_t *sub_count);
    /* sycl::device *, const CUdevice * … */
    ep_status (*device_from_native)(void *native, ep_device *device);
    /* A native device as above. Lives as long as the process. */
    ep_status (*device_native)(ep_device device, void **native);
    /* For hash tables: the result of the C++ runtime's std::hash, if it has one. So the objects of
     * other libraries for the same device, context or queue have the same hash. */
    uint64_t (*device_hash)(ep_device device);
    /* How many threads one launch, copy or fill may use. Sets the limit first, unless `count` is 0.
     * EP_UNSUPPORTED if the runtime chooses. EP_INVALID if the processor has fewer. */
    ep_status (*device_limit_threads)(ep_device device, uint32_t count, uint32_t *limit);
    /* the platform's, if the runtime has platforms */
    ep_status (*device_default_context)(ep_device device, ep_context *context);

    /* Contexts. While a handle lives, the same native object has the same handle. That holds for
     * queues, too. */
    ep_status (*context_create)(const ep_device *devices, size_t count, ep_context *context);
    /* sycl::context * (copied), CUcontext */
    ep_status (*context_from_native)(void *native, ep_context *context);
    ep_status (*context_native)(ep_context context, void **native); /* lives as long as `context` */
    void (*context_release)(ep_context context);
    uint64_t (*context_hash)(ep_context context);
    ep_status (*context_is_default)(ep_context context, int32_t *is_default);
    /* as device_partition counts */
    ep_status (*context_devices)(ep_context context, ep_device *devices, size_t *count);

    /* Queues. New ones are in order unless EP_QUEUE_OUT_OF_ORDER is set. */
    ep_status (*queue_create)(ep_context context, ep_device device, uint32_t flags,
                              ep_queue *queue);
    /* sycl::queue * (copied), const CUstream *: legacy, per-thread (of this thread) and ordinary
     * ones. CUDA's default streams do not name their context: it is `context`, or the current one
     * of this thread if that is NULL. */
    ep_status (*queue_from_native)(ep_context context, void *native, ep_queue *queue);
    /* A native queue as above. Lives as long as `queue`. */
    ep_status (*queue_native)(ep_queue queue, void **native);
    void (*queue_release)(ep_queue queue);
    uint64_t (*queue_hash)(ep_queue queue);
    ep_status (*queue_context)(ep_queue queue, ep_context *context);
    ep_status (*queue_device)(ep_queue queue, ep_device *device);
    ep_status (*queue_flags)(ep_queue queue, uint32_t *flags);
    ep_status (*queue_wait)(ep_queue queue); /* Blocks. Reports errors of asynchronous work. */
    /* Waits for work submitted through this handle. Other work in the queue may be waited for or
     * not. Blocks.
     */
    ep_status (*queue_wait_submitted)(ep_queue queue);
    ep_status (*queue_is_idle)(ep_queue queue, int32_t *idle);
    /* Graph capture: work submitted to a capturing stream is written down and not run. Sets the
     * number of the capture, which is the same for all its queues and unique in the process; 0
     * while work runs. */
    ep_status (*queue_capture)(ep_queue queue, uint64_t *capture);
    /* For a capturing queue: calls `release(user)` once, when the graph and everything made from it
     * is destroyed. The call comes on any thread and must not call the runtime. */
    ep_status (*queue_keep)(ep_queue queue, void *user, void (*release)(void *user));

    /* Events. In an out-of-order queue, event_record and event_wait_in_queue are barriers. Like any
     * submission of "sycl", both block while another thread waits for the queue, if it is one of
     * OpenCL. */
    /* The event is done when everything in the queue now is done. `flags` of ep_event_flag. */
    ep_status (*event_record)(ep_queue queue, uint32_t flags, ep_event *event);
    /* The event is done when everything in the context now is done, in unknown queues, too. Returns
     * EP_UNSUPPORTED if there is no such event, and EP_INVALID while a queue of the context is
     * capturing. */
    ep_status (*event_record_context)(ep_context context, ep_event *event);
    /* Later work of `queue` waits for the event, of any context. Blocks only if the runtime cannot
     * order the two. */
    ep_status (*event_wait_in_queue)(ep_queue queue, ep_event event);
    /* Later work of `to` waits for everything in `from`, another queue, now: one call for
     * event_record and its wait. It returns EP_UNSUPPORTED, and nothing waits, if `from` is
     * capturing, also if another thread begins the capture meanwhile. */
    ep_status (*queue_wait_queue)(ep_queue from, ep_queue to);
    ep_status (*event_wait)(ep_event event); /* blocks */
    ep_status (*event_is_done)(ep_event event, int32_t *done);
    /* both done and of profiling queues */
    ep_status (*event_seconds)(ep_event from, ep_event to, double *seconds);
    ep_status (*event_native)(ep_event event, void **native); /* sycl::event *, CUevent */
    ep_status (*event_from_native)(void *native, ep_event *event);
    void (*event_release)(ep_event event);

    /* memory. `alignment` is a power of two, or 0 for the runtime's own. `queue` is NULL unless
     * EP_ORDERED_FREE. */
    ep_status (*memory_allocate)(ep_context context, ep_device device, ep_usm_kind kind,
                                 size_t bytes, size_t alignment, ep_queue queue, void **pointer);
    /* No access is pending. May block. */
    ep_status (*memory_free)(ep_context context, void *pointer, ep_queue queue);
    ep_status (*memory_query)(ep_context context, const void *pointer, size_t bytes, uint32_t flags,
                              ep_allocation *found);
    /* Copies and fills are work of the queue. Either side may be ordinary host memory, which must
     * live until they are done. */
    ep_status (*memory_copy)(ep_queue queue, void *to, const void *from, size_t bytes);
    ep_status (*memory_copy_strided)(
        ep_queue queue, const ep_box *box, void *to, const int64_t *to_strides, const void *from,
        const int64_t *from_strides); /* both sides are reachable by the device */
    ep_status (*memory_fill)(ep_queue queue, void *to, const void *item, size_t itemsize,
                             size_t count);
    ep_status (*memory_fill_strided)(ep_queue queue, const ep_box *box, void *to,
                                     const int64_t *to_strides, const void *item);
    /* Makes ordinary host memory of the process usable by the devices of `context`, at its own
     * address, and by direct copies. `bytes` is not 0. With EP_PINS_PAGES the range is whole pages,
     * which may hold other objects as well. With `read_only` the devices only read it, and it may
     * be mapped read-only. Sets *pinned to 1. Or does nothing and sets it to 0, if they use such
     * memory as it is and no copy would be faster. CUDA's and HIP's backends always register.
     * Returns EP_INVALID if a part of the memory is registered with the runtime already. May block.
     */
    ep_status (*memory_pin)(ep_context context, void *pointer, size_t bytes, int32_t read_only,
                            int32_t *pinned);
    /* Undoes a memory_pin of that `pointer` and `bytes`, in the same context. No access is pending.
     * May block. */
    ep_status (*memory_unpin)(ep_context context, void *pointer, size_t bytes);
    /* Returns memory that the runtime caches to the system, if the queues that it was freed in have
     * completed the free. Blocks. */
    ep_status (*memory_trim)(ep_device device);

    /* programs */
    /* bit 1 << ep_dialect; the caller chooses the best */
    ep_status (*program_dialects)(ep_device device, uint32_t *mask);
    ep_status (*program_build)(ep_context context, ep_device device, ep_dialect dialect,
                               const char *source, size_t length, const char *options,
                               const ep_sink *log, ep_program *program); /* blocks */
    void (*program_release)(ep_program program);
    /* blocks: it may compile a template */
    ep_status (*program_kernel)(ep_program program, const char *name, ep_kernel *kernel);
    ep_status (*kernel_info)(ep_kernel kernel, ep_device device, ep_kernel_info *info);
    void (*kernel_release)(ep_kernel kernel);
    /* `cooperation` is NULL for independent groups. */
    ep_status (*kernel_launch)(ep_queue queue, ep_kernel kernel, const ep_range *range,
                               const ep_cooperation *cooperation, const ep_argument *arguments,
                               size_t count);
    /* Most groups of `work_items` that a cooperative launch may have, each with `local_memory`
     * bytes beside the kernel's own. */
    ep_status (*kernel_resident_groups)(ep_kernel kernel, ep_device device, uint64_t work_items,
                                        uint64_t local_memory, uint64_t *groups);

    /* peer */
    /* once access is enabled */
    ep_status (*peer_can_access)(ep_device device, ep_device peer, int32_t *can);
    /* for all work of `context` from now on */
    ep_status (*peer_enable_access)(ep_context context, ep_device peer);

    /* IPC: memory that another process opens. A backend whose runtime cannot share memory returns
     * EP_UNSUPPORTED. */
    ep_status (*ipc_allocate)(ep_context context, ep_device device, ep_usm_kind kind, size_t bytes,
                              void **pointer);
    /* Describes the allocation that holds `pointer`. It is from ipc_allocate or ipc_open, or memory
     * of another library that the runtime can share. The allocation may hold only the first of the
     * `bytes` from `pointer`. The rest then lies in allocations that follow it, which further calls
     * describe. */
    ep_status (*ipc_export)(ep_context context, const void *pointer, size_t bytes, ep_ipc_form form,
                            ep_ipc_handle *handle);
    /* the device of the memory in this process */
    ep_status (*ipc_device)(const ep_ipc_handle *handle, ep_device *device);
    /* Blocks. Opens allocations of one device, one after the other in memory. *pointer is the start
     * of the first one. Several are of the form EP_IPC_FILE or EP_IPC_FABRIC. With `read_only`, the
     * device prevents writes if it can. */
    ep_status (*ipc_open)(ep_context context, const ep_ipc_handle *handles, size_t count,
                          int32_t read_only, void **pointer);
    /* Blocks. Frees memory of ipc_allocate or ipc_open on which no access of Entrepot is pending.
     * Returns EP_UNSUPPORTED while a queue of the context is capturing: try again later. */
    ep_status (*ipc_close)(ep_context context, void *pointer);
    /* Records an event of everything in the queue now, for processes of this machine. They may open
     * it while this process lives. A later call may record it again if it is done, or if the new
     * record covers the old one. Returns EP_UNSUPPORTED if the runtime or the device has no such
     * events. Then the caller waits on the host. */
    ep_status (*ipc_event_record)(ep_queue queue, ep_ipc_event *event);
    /* The event in this process, for queues of `context`. Each wait covers the latest record. Waits
     * and questions return EP_DEVICE_ERROR if the event is not done and the process that records it
     * has ended. Work that waits for the event in a queue does not notice that. */
    ep_status (*ipc_event_open)(ep_context context, const ep_ipc_event *shared, ep_event *event);

    /* Graphs: work that is prepared once and submitted many times. One call at a time for each
     * graph; the caller serializes them. */
    /* Prepares the nodes for queues of this context and device. They run one after the other, as if
     * they were submitted to one queue in order. Arguments are copied. Kernels must live as long as
     * the graph. EP_UNSUPPORTED if the device has no graphs, also for a `count` of 0. */
    ep_status (*graph_create)(ep_context context, ep_device device, const ep_node *nodes,
                              size_t count, ep_graph *graph);
    /* Submits the nodes as one piece of work of the queue. An earlier submission may still run. */
    ep_status (*graph_launch)(ep_queue queue, ep_graph graph);
    /* Replaces a launch by another one, for later submissions. EP_UNSUPPORTED if the runtime cannot
     * change this node: create another graph. */
    ep_status (*graph_update)(ep_graph graph, size_t index, const ep_node *node);
    /* Work that has been submitted runs to its end. */
    void (*graph_release)(ep_graph graph);
} ep_backend;

/* The function that a plugin exports. On EP_OK *backend lives as long as the process. */
typedef ep_status (*ep_backend_entry)(const ep_loader *loader, const ep_backend **backend);
#define EP_BACKEND_ENTRY "entrepot_backend"

/* A function that a plugin may export: the path of the loaded driver. Requires: the entry has
 * returned EP_OK. */
typedef const char *(*ep_backend_driver_path)(void);
#define EP_BACKEND_DRIVER_PATH "entrepot_driver_path"

#ifdef __cplusplus
}
#endif
#endif
