// IPC events: words in a file of the process, which its queues set, and which other processes wait
// for (futex).
//
// Overview
//   A process has one file of words for all of its queues. An event is a word and a number. The
//   word has the number of its last event that is done. Word 0 counts these, and is the one that
//   other processes sleep on.
//
// States
//   A word is free until an event is recorded. When that is done, the word is free again, for an
//   event of the next number. Numbers wrap around, and an event is compared with later ones.
//
// Lock order
//   No mutex of this file is held while a queue or an event is called.
//
// Lifetime
//   The file is locked while the process lives (life_file.hpp). Sleepers ask for that now and then.
//   The child of a fork gets a file of its own. It has no thread that waits for other processes, so
//   events from before the fork are refused in its queues.
#include "backends/host/native.hpp"

#include "core/no_destructor.hpp"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <ctime>
#include <thread>

namespace entrepot::backends::host {
namespace {

using AtomicWord = std::atomic<std::uint32_t>;
static_assert(sizeof(AtomicWord) == 4 && AtomicWord::is_always_lock_free);

constexpr std::uint32_t bell = 0;  // the word that counts
constexpr std::size_t file_bytes = 4096;
constexpr std::uint32_t all_words = file_bytes / sizeof(AtomicWord);
constexpr long look_every_ns = 50'000'000;  // that the other process lives

// The words of other processes that are kept mapped although no event refers to them.
constexpr std::size_t most_mapped = 8;

struct Name {
    std::uint32_t word, number;
};

// Sleeps until the word has another value, or for a moment.
void sleep_on(const AtomicWord &word, std::uint32_t value) noexcept {
    const timespec moment{0, look_every_ns};
    syscall(SYS_futex, &word, FUTEX_WAIT, value, &moment, nullptr, 0);
}

// The words of this process.
class OwnWords {
public:
    static OwnWords &only() {
        static NoDestructor<OwnWords> made;
        return *made;
    }

    // Takes a free word for an event. Refuses if all are in use.
    Name take(ep_ipc_event &event) {
        const std::lock_guard hold(lock_);
        if (!file_)
            make();
        if (free_count_ == 0)
            refuse(EP_UNSUPPORTED, "the events of ", all_words - 1,
                   " shared arrays are pending, and no more are possible");
        const std::uint32_t word = free_[first_free_++ % free_.size()];
        --free_count_;
        event = {};
        event.file = file_.for_others();
        event.process = getpid();
        return {word, ++numbers_[word]};
    }

    void complete(Name done) noexcept {
        words_[done.word].store(done.number, std::memory_order_release);
        words_[bell].fetch_add(1, std::memory_order_release);
        syscall(SYS_futex, &words_[bell], FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
        const std::lock_guard hold(lock_);
        free_[(first_free_ + free_count_++) % free_.size()] = done.word;
    }

    void lock() noexcept { lock_.lock(); }
    void unlock() noexcept { lock_.unlock(); }
    // The words stay mapped: work of the parent has them in its queues.
    void unlock_in_child() noexcept {
        file_.close_in_child();
        lock_.unlock();
    }

private:
    void make() {
        LifeFile file(file_bytes);
        const OpenFile writable = file.open_again(O_RDWR);
        void *const start =
            mmap(nullptr, file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, writable.number(), 0);
        if (start == MAP_FAILED)
            refuse(EP_UNSUPPORTED, "the words of events cannot be mapped: ", std::strerror(errno));
        free_.resize(all_words);
        first_free_ = free_count_ = 0;
        for (std::uint32_t word = bell + 1; word < all_words; ++word)
            free_[free_count_++] = word;
        numbers_.assign(all_words, 0);
        words_ = static_cast<AtomicWord *>(start);
        file_ = std::move(file);
    }

    std::mutex lock_;  // guards what follows
    LifeFile file_;
    AtomicWord *words_ = nullptr;  // constant while an event is pending
    std::vector<std::uint32_t> numbers_;
    // Free words, used in turn, so that the numbers of a word wrap around as late as possible.
    std::vector<std::uint32_t> free_;
    std::size_t first_free_ = 0, free_count_ = 0;
};

// Those of other processes.
class MappedWords {
public:
    static MappedWords &only() {
        static NoDestructor<MappedWords> made;
        return *made;
    }

    std::shared_ptr<SharedWords> of(const ep_ipc_event &event) {
        struct stat about{};
        if (fstat(event.file, &about) != 0)
            refuse(EP_INVALID, "the file of a shared event is not open: ", std::strerror(errno));
        std::shared_ptr<SharedWords> left;  // unmapped without the lock
        const std::lock_guard hold(lock_);
        const auto known = std::find_if(rows_.begin(), rows_.end(), [&](const auto &each) {
            return each->process.is_of(about) && each->generation == fork_generation();
        });
        if (known != rows_.end()) {
            std::rotate(rows_.begin(), known, known + 1);
            return rows_.front();
        }
        auto words = std::make_shared<SharedWords>(event);
        rows_.insert(rows_.begin(), words);
        if (rows_.size() > most_mapped) {
            left = std::move(rows_.back());
            rows_.pop_back();
        }
        return words;
    }

    void lock() noexcept { lock_.lock(); }
    void unlock() noexcept { lock_.unlock(); }

private:
    std::mutex lock_;
    std::vector<std::shared_ptr<SharedWords>> rows_;  // guarded by lock_; the last used first
};

[[maybe_unused]] const int watching_forks = pthread_atfork(
    []() noexcept {
        OwnWords::only().lock();
        MappedWords::only().lock();
    },
    []() noexcept {
        MappedWords::only().unlock();
        OwnWords::only().unlock();
    },
    []() noexcept {
        MappedWords::only().unlock();
        OwnWords::only().unlock_in_child();
    });

class Signal final : public Work {
public:
    explicit Signal(Name name) : name_(name) {}
    bool run(Queue &) override {
        OwnWords::only().complete(name_);
        return true;
    }

private:
    const Name name_;
};

ep_status ipc_event_record(ep_queue queue, ep_ipc_event *event) {
    return guarded([&] {
        ep_ipc_event made{};
        const Name name = OwnWords::only().take(made);
        try {
            object(queue).submit(Signal(name));
        } catch (...) {
            OwnWords::only().complete(name);  // has no other user
            throw;
        }
        made.name_size = sizeof name;
        std::memcpy(made.name, &name, sizeof name);
        *event = made;
    });
}

ep_status ipc_event_open(ep_context context, const ep_ipc_event *shared, ep_event *event) {
    return guarded([&] {
        check_context(context);
        Name name{};
        if (shared->name_size != sizeof name)
            refuse(EP_INVALID, "the handle has an event of ", shared->name_size,
                   " bytes, and one "
                   "of ",
                   sizeof name, " belongs to the host");
        std::memcpy(&name, shared->name, sizeof name);
        std::shared_ptr<SharedWords> words = MappedWords::only().of(*shared);
        if (name.word == bell || name.word >= words->size())
            refuse(EP_INVALID, "the handle has an event at word ", name.word, ", and its file has ",
                   words->size());
        *event = handle(new Event(std::move(words), name.word, name.number));
    });
}

}  // namespace

SharedWords::SharedWords(const ep_ipc_event &event)
    : generation(fork_generation()), process(event.file, event.process) {
    const int seals = fcntl(process.file(), F_GET_SEALS);
    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || process.bytes() == 0)
        refuse(EP_INVALID, "the file of a shared event is not of Entrepot: it is not sealed "
                           "against being made shorter");
    void *const start = mmap(nullptr, process.bytes(), PROT_READ, MAP_SHARED, process.file(), 0);
    if (start == MAP_FAILED)
        refuse(EP_OUT_OF_MEMORY, "a shared event cannot be mapped: ", std::strerror(errno));
    words_ = static_cast<const AtomicWord *>(start);
}

SharedWords::~SharedWords() { munmap(const_cast<AtomicWord *>(words_), process.bytes()); }

void SharedWords::wait_for(std::uint32_t word, std::uint32_t number) const {
    for (;;) {
        // Both are read before the word, so nothing that comes later is missed.
        const std::uint32_t rung = words_[bell].load(std::memory_order_acquire);
        const bool has_ended = process.has_ended();
        if (has_come(word, number))
            return;
        if (has_ended)
            process.refuse_ended();
        sleep_on(words_[bell], rung);
    }
}

void SharedWords::watch(Event &event) {
    if (generation != fork_generation())
        refuse(EP_DEVICE_ERROR, "this memory was opened before the process forked, and work of "
                                "another process is pending on it: open it in the child");
    const std::lock_guard hold(lock_);
    watched_.emplace_back(&event);
    if (has_thread_)
        return;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the threads of the program
    try {
        std::thread([self = shared_from_this()] { self->serve(); }).detach();
        has_thread_ = true;
    } catch (...) {
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        watched_.pop_back();
        throw;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void SharedWords::serve() noexcept {
    for (bool is_last = false; !is_last;) {
        const std::uint32_t rung = words_[bell].load(std::memory_order_acquire);
        const bool has_ended = process.has_ended();
        std::list<IntrusivePtr<Event>> finished;
        {
            const std::lock_guard hold(lock_);
            for (auto event = watched_.begin(); event != watched_.end();) {
                const auto next = std::next(event);
                if (has_ended || (*event)->is_done())
                    finished.splice(finished.end(), watched_, event);
                event = next;
            }
            is_last = watched_.empty();
            has_thread_ = !is_last;
        }
        for (const IntrusivePtr<Event> &event : finished)
            event->is_done() ? event->complete() : event->fail();
        if (!is_last)
            sleep_on(words_[bell], rung);
    }
}

void fill_ipc_event_functions(ep_backend &table) {
    table.ipc_event_record = ipc_event_record;
    table.ipc_event_open = ipc_event_open;
}

}  // namespace entrepot::backends::host
