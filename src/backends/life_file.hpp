// LifeFile: the file by which other processes learn that this one has ended. ProcessLife: the same
// file in such a process.
//
// Overview
//   The process holds a lock on its file (F_OFD_SETLK). The kernel releases the lock when the
//   process ends, also if it is killed. Other processes get a second open file description, which
//   holds no lock and is read-only. The alternatives are worse: the number of a process may be used
//   again, has no meaning in another container, and a pidfd needs that number.
//
// Lifetime
//   The forked child of a process has its descriptors and mappings, and would hold its lock. So a
//   fork handler closes the descriptors in the child (close_in_child), and the locked description
//   is never mapped.
#pragma once
#include "backends/boundary.hpp"
#include "core/open_file.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

namespace entrepot::backends {

inline struct flock whole_file(short type) noexcept {
    struct flock range{};
    range.l_type = type;
    range.l_whence = SEEK_SET;
    return range;
}

class LifeFile {
public:
    LifeFile() = default;

    // Makes a file of zeros and locks it.
    explicit LifeFile(std::size_t bytes)
        : own_(memfd_create("ep-events", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
        const auto require = [](bool succeeded) {
            if (!succeeded)
                refuse(EP_UNSUPPORTED,
                       "events for other processes need a locked file, and the "
                       "system gives none: ",
                       std::strerror(errno));
        };
        require(own_.number() >= 0);
        require(ftruncate(own_.number(), static_cast<off_t>(bytes)) == 0);
        // Otherwise an access could raise SIGBUS in another process.
        require(fcntl(own_.number(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0);
        struct flock range = whole_file(F_WRLCK);
        require(fcntl(own_.number(), F_OFD_SETLK, &range) == 0);
        for_others_ = open_again(O_RDONLY);
        require(for_others_.number() >= 0);
    }

    explicit operator bool() const noexcept { return own_.number() >= 0; }
    // Another description of the file, which holds no lock; no file if the system gives none.
    OpenFile open_again(int flags) const {
        const std::string path = "/proc/self/fd/" + std::to_string(own_.number());
        return OpenFile(open(path.c_str(), flags | O_CLOEXEC));
    }
    int for_others() const noexcept { return for_others_.number(); }

    // In the handler of a fork: the file stays the parent's.
    void close_in_child() noexcept { *this = LifeFile(); }

private:
    OpenFile own_{-1};  // locked
    OpenFile for_others_{-1};
};

// The file of this process for events that a driver names: one in each plugin, without contents.
//
// Requires: the child of a fork records no events.
class EmptyLifeFile {
public:
    // Refuses if the system gives no such file.
    static int for_others() {
        const std::lock_guard hold(lock_);
        if (file_ == nullptr)
            file_ = new LifeFile(1);
        return file_->for_others();
    }

private:
    // Held while a fork runs: the child closes a file that is made, and none is being made.
    static inline std::mutex lock_;
    // Never closed: the lock is to end with the process.
    static inline LifeFile *file_ = nullptr;
    [[maybe_unused]] static inline const int watching_forks_ =
        pthread_atfork([]() noexcept { lock_.lock(); }, []() noexcept { lock_.unlock(); },
                       []() noexcept {
                           if (file_ != nullptr)
                               file_->close_in_child();
                           lock_.unlock();
                       });
};

// Thread safety: thread-safe.
class ProcessLife {
public:
    // Copies the descriptor `file`.
    ProcessLife(int file, std::int32_t process)
        : process_(process), file_(fcntl(file, F_DUPFD_CLOEXEC, 0)) {
        struct stat about{};
        if (file_.number() < 0 || fstat(file_.number(), &about) != 0)
            refuse(EP_INVALID, "the file of a shared event is not open: ", std::strerror(errno));
        device_ = about.st_dev;
        inode_ = about.st_ino;
        bytes_ = static_cast<std::size_t>(about.st_size);
    }

    // True if it is the same file.
    bool is_of(const struct stat &about) const noexcept {
        return device_ == about.st_dev && inode_ == about.st_ino;
    }
    int file() const noexcept { return file_.number(); }
    std::size_t bytes() const noexcept { return bytes_; }

    // True if the process has ended. Its events may have been done before, so they are asked after
    // this.
    bool has_ended() const noexcept {
        struct flock range = whole_file(F_RDLCK);
        return fcntl(file_.number(), F_OFD_GETLK, &range) != 0 || range.l_type == F_UNLCK;
    }
    [[noreturn]] void refuse_ended() const {
        refuse(EP_DEVICE_ERROR, "process ", process_,
               ", which shared this memory, ended before its pending work on the memory was done: "
               "the elements are unknown");
    }

    // True if `query` says that the process's work is done. Refuses if the process ended before.
    template <class Query> bool is_done(Query &&query) const {
        if (query())
            return true;
        if (!has_ended())
            return false;
        if (!query())  // the process may have ended after its work was done
            refuse_ended();
        return true;
    }
    // Waits for is_done(). It polls: a runtime would wait for a process that has ended.
    template <class Query> void wait(Query &&query) const {
        using namespace std::chrono_literals;
        for (auto pause = 10us; !is_done(query); pause = std::min(2 * pause, 500us))
            std::this_thread::sleep_for(pause);
    }

private:
    const std::int32_t process_;
    const OpenFile file_;
    dev_t device_ = 0;
    ino_t inode_ = 0;
    std::size_t bytes_ = 0;
};

}  // namespace entrepot::backends
