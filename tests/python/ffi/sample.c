// A library for tests of calls: a function for each kind of argument and result.
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef enum { SAMPLE_OK = 0, SAMPLE_BAD = 3 } status;
typedef struct {
    int32_t x, y;
} point;
typedef struct {
    double values[4];
} large;
typedef struct {
    int8_t tag;
    union {
        int32_t whole;
        float real;
    };
    unsigned low : 3, high : 5;
    int signed_bits : 4;
    char name[8];
    point corners[2];
    const char *text;
    int *numbers;
} record;
typedef int (*binary)(int, int);
typedef void (*visitor)(void *context, point *at, int64_t count);

int8_t add_int8(int8_t a, int8_t b) { return (int8_t)(a + b); }
uint64_t same_uint64(uint64_t a) { return a; }
double halved(float a) { return a / 2; }
bool negated(bool a) { return !a; }
int32_t sum_of_points(point a, point b) { return a.x + a.y + b.x + b.y; }
point swapped(point a) { return (point){a.y, a.x}; }
large scaled(large a, double by) {
    for (int i = 0; i < 4; ++i)
        a.values[i] *= by;
    return a;
}
int64_t total(const int *values, uint64_t count) {
    int64_t sum = 0;
    for (uint64_t i = 0; i < count; ++i)
        sum += values[i];
    return sum;
}
void fill(void *to, int byte, uint64_t count) { memset(to, byte, count); }
int length(const char *text) { return text ? (int)strlen(text) : -1; }
const char *greeting(bool there) { return there ? "hello" : 0; }
status divide(int a, int b, int *quotient, int *remainder) {
    if (b == 0)
        return SAMPLE_BAD;
    *quotient = a / b;
    *remainder = a % b;
    return SAMPLE_OK;
}
status unknown_status(void) { return (status)77; }
status make_point(point *out, int x) {
    *out = (point){x, x + 1};
    return SAMPLE_OK;
}
status allocate(void **out, uint64_t bytes) {
    return (*out = malloc(bytes)) ? SAMPLE_OK : SAMPLE_BAD;
}
status release(void *memory) {
    free(memory);
    return SAMPLE_OK;
}
status release_not(void *memory) { return SAMPLE_BAD; }
void let_go(void *memory) { free(memory); }

void free_and_count(void *memory, int *count) {
    static int freed;
    free(memory);
    *count = ++freed;
}
status name_of(char *out, int length) {
    strncpy(out, "sample", (size_t)length);
    return SAMPLE_OK;
}
int apply(binary function, int a, int b) { return function(a, b); }
static binary kept;
void keep(binary function) { kept = function; }
int call_kept(int a, int b) { return kept ? kept(a, b) : -1; }
void call_at_exit(void);
static void at_exit(void) {
    if (kept)
        kept(1, 2);
}
void call_at_exit(void) { atexit(at_exit); }
typedef struct door_s *door;
typedef struct key_s *key;
door open_door(int number) { return (door)(intptr_t)number; }
key cut_key(int number) { return (key)(intptr_t)number; }
// Takes the address of a door, and sets the door to NULL.
int shut(door *it) {
    const int number = (int)(intptr_t)*it;
    *it = 0;
    return number;
}
status find_door(door *out, int number) {
    *out = open_door(number);
    return SAMPLE_OK;
}
// Fills all elements.
int all_doors(door *out, uint64_t *count) {
    for (uint64_t i = 0; i < *count; ++i)
        out[i] = open_door((int)i + 1);
    return (int)*count;
}
int total_length(const char **words, int count) {
    int sum = 0;
    for (int i = 0; i < count; ++i)
        sum += (int)strlen(words[i]);
    return sum;
}
int sum_of_all(const point *points, int count) {
    int sum = 0;
    for (int i = 0; i < count; ++i)
        sum += points[i].x + points[i].y;
    return sum;
}
void copy(void *to, const void *from, uint64_t bytes) { memcpy(to, from, bytes); }
void fill_shorts(short *to, short value, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i)
        to[i] = value;
}
int number_of(door it) { return (int)(intptr_t)it; }
typedef struct {
    const char *bytes;
    int32_t count;
} span;
int look_at(span it, binary function) { return function(it.bytes[0], it.count); }
static int multiply(int a, int b) { return a * b; }
binary multiplier(void) { return multiply; }
void visit(visitor function, void *context, point *points, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
        function(context, &points[i], count);
}
int many(int a, int b, int c, int d, int e, int f, int g, int h, double i, float j) {
    return a + b + c + d + e + f + g + h + (int)i + (int)j;
}
static atomic_bool asleep, told;
// Returns: true if another thread woke it in that time.
bool sleep_until_told(int milliseconds) {
    extern int usleep(unsigned);
    told = false;
    asleep = true;
    for (; milliseconds > 0 && !told; --milliseconds)
        usleep(1000);
    asleep = false;
    return told;
}
// Returns: true if a thread was asleep.
bool tell_sleeper(void) { return asleep && (told = true); }
// Threads of C, unknown to Python until they call it.
typedef struct {
    pthread_t thread;
    binary function;
    int which, times, sum;
} caller;
static void *call_often(void *context) {
    caller *const self = context;
    for (int time = 0; time < self->times; ++time)
        self->sum += self->function(self->which, time);
    return 0;
}
// The sum of what all calls returned.
int call_on_threads(binary function, int threads, int times) {
    caller callers[64];
    int sum = 0;
    for (int which = 0; which < threads; ++which) {
        callers[which] = (caller){.function = function, .which = which, .times = times};
        if (pthread_create(&callers[which].thread, 0, call_often, &callers[which]))
            abort();
    }
    for (int which = 0; which < threads; ++which) {
        pthread_join(callers[which].thread, 0);
        sum += callers[which].sum;
    }
    return sum;
}
static void *call_for_ever(void *context) {
    const binary function = (binary)context;
    for (int time = 0;; ++time)
        function(0, time);
}
// Threads that call until the process ends.
void call_until_the_end(binary function, int threads) {
    for (pthread_t thread; threads > 0; --threads)
        if (pthread_create(&thread, 0, call_for_ever, (void *)function) || pthread_detach(thread))
            abort();
}
