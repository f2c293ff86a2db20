// Attributes of Clang's thread-safety analysis (-Wthread-safety), which checks at compile time that
// a mutex is held where it has to be. Other compilers ignore them.
//
// The analysis follows MutexLock (checked_mutex.hpp). It does not see std::unique_lock, which GCC's
// standard library does not annotate. There, assert_held() tells it, and checks as well.
#pragma once

#ifdef __clang__
#define ENTREPOT_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define ENTREPOT_THREAD_SAFETY(attribute)
#endif

// For classes: a lock, and an object that holds one from its constructor to its destructor.
#define ENTREPOT_CAPABILITY ENTREPOT_THREAD_SAFETY(capability("mutex"))
#define ENTREPOT_SCOPED_CAPABILITY ENTREPOT_THREAD_SAFETY(scoped_lockable)
// For fields that are accessed with the mutex held.
#define ENTREPOT_GUARDED_BY(mutex) ENTREPOT_THREAD_SAFETY(guarded_by(mutex))
// For functions whose caller holds the mutexes.
#define ENTREPOT_REQUIRES(...) ENTREPOT_THREAD_SAFETY(requires_capability(__VA_ARGS__))
// For functions of a lock.
#define ENTREPOT_ACQUIRE(...) ENTREPOT_THREAD_SAFETY(acquire_capability(__VA_ARGS__))
#define ENTREPOT_TRY_ACQUIRE(...) ENTREPOT_THREAD_SAFETY(try_acquire_capability(__VA_ARGS__))
#define ENTREPOT_RELEASE(...) ENTREPOT_THREAD_SAFETY(release_capability(__VA_ARGS__))
#define ENTREPOT_ASSERTS_HELD ENTREPOT_THREAD_SAFETY(assert_capability(this))
// For functions that the analysis cannot follow. Their comments say why no lock is needed.
#define ENTREPOT_NO_THREAD_SAFETY_ANALYSIS ENTREPOT_THREAD_SAFETY(no_thread_safety_analysis)
