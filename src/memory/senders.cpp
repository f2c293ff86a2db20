// Senders: the socket, its thread, and the other side of it.
#include <memory/senders.hpp>

#include <core/open_file.hpp>
#include <entrepot/core/error.hpp>
#include <entrepot/device/fork_guard.hpp>

#include <fcntl.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

namespace entrepot::senders {
namespace {

constexpr time_t patience_of_owner = 2, patience_of_opener = 10;  // seconds

struct Offer {
    std::array<std::uint8_t, 16> ticket;
    int file;  // the memory's
};

struct Owner {
    std::mutex mutex;  // guards what follows
    int socket = -1;   // listening; -1: nobody has been offered anything in this process
    std::int32_t process = 0;
    std::array<std::uint8_t, 16> address{};
    std::unordered_map<const void *, Offer> offers;

    void forget() noexcept {
        if (socket >= 0)
            close(socket);
        socket = -1;
        offers.clear();
    }
};

// Never destroyed: its thread runs until the very end.
Owner &owner() {
    static Owner *const made = [] {
        auto *const only = new Owner;
        // A child has the memory, but not the thread: it begins anew, and leaves the parent's offers to the parent.
        fork_guard::hold_over_fork({[]() noexcept { owner().mutex.lock(); },
                                    []() noexcept {
                                        if (owner().process != getpid())
                                            owner().forget();
                                        owner().mutex.unlock();
                                    }});
        return only;
    }();
    return *made;
}

[[noreturn]] void refuse(const char *what) {
    throw Error(ErrorKind::exchange, "shared memory: ", what, ": ", std::strerror(errno));
}

std::array<std::uint8_t, 16> draw() {
    std::array<std::uint8_t, 16> lot{};
    if (getrandom(lot.data(), lot.size(), 0) != static_cast<ssize_t>(lot.size()))
        refuse("the system gives no random numbers");
    return lot;
}

struct Address {
    sockaddr_un name{};
    socklen_t length = 0;

    // A name that begins with a zero is in no folder.
    Address(std::int32_t process, const std::array<std::uint8_t, 16> &lot) {
        name.sun_family = AF_UNIX;
        std::string text = "entrepot." + std::to_string(process) + ".";
        for (const std::uint8_t byte : lot) {
            text += "0123456789abcdef"[byte >> 4];
            text += "0123456789abcdef"[byte & 15];
        }
        std::memcpy(name.sun_path + 1, text.data(), text.size());
        length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
    }
    const sockaddr *get() const noexcept { return reinterpret_cast<const sockaddr *>(&name); }
};

void limit_waiting(int socket, time_t seconds) {
    const timeval limit{seconds, 0};
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

// Whether the process at the other end is of this user, or may do as it likes anyhow.
bool is_of_this_user(int socket) {
    ucred other{};
    socklen_t size = sizeof other;
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &size) == 0 && (other.uid == geteuid() || other.uid == 0);
}

// One byte, and the file with it if there is one.
bool send_file(int socket, int file) {
    char has_file = file >= 0;
    iovec text{&has_file, 1};
    alignas(cmsghdr) char room[CMSG_SPACE(sizeof file)] = {};
    msghdr message{};
    message.msg_iov = &text;
    message.msg_iovlen = 1;
    if (has_file) {
        message.msg_control = room;
        message.msg_controllen = sizeof room;
        cmsghdr *const header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof file);
        std::memcpy(CMSG_DATA(header), &file, sizeof file);
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

void answer(int socket) {
    if (!is_of_this_user(socket))
        return;
    limit_waiting(socket, patience_of_owner);
    std::array<std::uint8_t, 16> ticket{};
    if (recv(socket, ticket.data(), ticket.size(), MSG_WAITALL) != static_cast<ssize_t>(ticket.size()))
        return;
    const std::lock_guard hold(owner().mutex);  // while the file is sent, nobody closes it
    int file = -1;
    for (const auto &[memory, offer] : owner().offers)
        if (offer.ticket == ticket)
            file = offer.file;
    send_file(socket, file);
}

void serve(int listening) noexcept {
    for (;;) {
        const OpenFile client(accept4(listening, nullptr, nullptr, SOCK_CLOEXEC));
        if (client.number() >= 0)
            answer(client.number());
        else if (errno != EINTR && errno != ECONNABORTED)
            usleep(100'000);  // no more files: perhaps later
    }
}

// The owner's mutex is held. Signals are for the threads of the program.
void start(Owner &of) {
    const std::array<std::uint8_t, 16> lot = draw();
    const Address address(getpid(), lot);
    OpenFile listening(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (listening.number() < 0 || bind(listening.number(), address.get(), address.length) != 0 ||
        listen(listening.number(), 128) != 0)
        refuse("there is no socket to hand its file out by");
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        std::thread(serve, listening.number()).detach();
    } catch (...) {
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        throw;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    of.address = lot;
    of.process = getpid();
    of.socket = listening.detach();
}

// Of this very process, as it was not forked since.
int own_file(const Sender &sender) {
    const std::lock_guard hold(owner().mutex);
    if (owner().socket < 0 || owner().process != sender.process || owner().address != sender.address)
        return -1;
    for (const auto &[memory, offer] : owner().offers)
        if (offer.ticket == sender.ticket)
            return fcntl(offer.file, F_DUPFD_CLOEXEC, 0);
    return -1;
}

OpenFile connect_to(const Sender &sender) {
    OpenFile socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (socket.number() < 0)
        refuse("there is no socket to fetch its file by");
    limit_waiting(socket.number(), patience_of_opener);
    const Address address(sender.process, sender.address);
    if (connect(socket.number(), address.get(), address.length) != 0)
        throw Error(ErrorKind::exchange, "shared memory: process ", sender.process,
                    ", which shared it, cannot be reached: it has ended, or is in another network namespace (container); memory "
                    "must be opened while the process that shared it has it");
    if (!is_of_this_user(socket.number()))
        throw Error(ErrorKind::exchange, "shared memory: process ", sender.process,
                    ", which shared it, runs as another user: memory is shared between processes of one user");
    return socket;
}

// -1: none came.
int receive_file(int socket, char &has_file) {
    iovec text{&has_file, 1};
    int file = -1;
    alignas(cmsghdr) char room[CMSG_SPACE(sizeof file)] = {};
    msghdr message{};
    message.msg_iov = &text;
    message.msg_iovlen = 1;
    message.msg_control = room;
    message.msg_controllen = sizeof room;
    if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1)
        has_file = -1;
    const cmsghdr *const header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
        std::memcpy(&file, CMSG_DATA(header), sizeof file);
    return file;
}

}  // namespace

Sender offer(const void *memory, int file) {
    Owner &own = owner();
    const std::lock_guard hold(own.mutex);
    if (own.socket < 0)
        start(own);
    const auto [row, is_new] = own.offers.try_emplace(memory);
    if (is_new)
        row->second = {draw(), file};
    return {own.process, own.address, row->second.ticket};
}

void withdraw(const void *memory) noexcept {
    const std::lock_guard hold(owner().mutex);
    owner().offers.erase(memory);
}

int fetch(const Sender &sender) {
    if (const int own = own_file(sender); own >= 0)
        return own;
    const OpenFile socket = connect_to(sender);
    char has_file = -1;
    int file = -1;
    if (send(socket.number(), sender.ticket.data(), sender.ticket.size(), MSG_NOSIGNAL) ==
        static_cast<ssize_t>(sender.ticket.size()))
        file = receive_file(socket.number(), has_file);
    if (file >= 0)
        return file;
    if (has_file == 0)
        throw Error(ErrorKind::exchange, "shared memory: process ", sender.process,
                    " has let go of what this handle names: whoever shares memory keeps it until it has been opened");
    throw Error(ErrorKind::exchange, "shared memory: process ", sender.process, " did not answer within ", patience_of_opener,
                " seconds: it is stopped, or of another user");
}

}  // namespace entrepot::senders
