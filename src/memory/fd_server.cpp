// Senders: the socket, its thread, and the other side of it.
#include <memory/fd_server.hpp>

#include "core/interrupt.hpp"
#include <core/open_file.hpp>
#include <core/uninterrupted.hpp>
#include <entrepot/core/error.hpp>
#include <entrepot/core/publish.hpp>
#include <entrepot/device/fork_guard.hpp>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace entrepot::senders {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono_literals::operator""s, std::chrono_literals::operator""ms;

constexpr std::chrono::seconds patience_of_owner = 2s, patience_of_opener = 10s;
constexpr std::size_t most_clients = 64;  // at one time

struct Offer {
    std::array<std::uint8_t, 16> token;
    int file;  // the memory's
};

// A connection whose token has not come yet.
struct Client {
    OpenFile socket;
    Clock::time_point deadline;
    std::array<std::uint8_t, 16> token{};
    std::size_t received = 0;  // bytes of the token
};

struct Owner {
    std::mutex mutex;  // guards what follows
    int socket = -1;   // listening; -1: this process has offered nothing
    std::int32_t process = 0;
    std::array<std::uint8_t, 16> address{};
    std::unordered_map<const void *, Offer> offers;
    // oldest first; only the thread changes it, and so reads it without the lock
    std::vector<Client> clients;

    void forget() noexcept {
        if (socket >= 0)
            close(socket);
        socket = -1;
        offers.clear();
        clients.clear();
    }
};

// Never destroyed: its thread runs until the very end.
Owner &owner() {
    static constinit FirstUse<Owner> made;
    return made.get();
}

// A child has the memory, but not the thread: it begins anew, and leaves the parent's offers to the
// parent.
[[maybe_unused]] const bool offers_are_locked = fork_guard::lock_over_fork(
    fork_guard::ForkRow::file_server, {[]() noexcept { owner().mutex.lock(); },
                                       []() noexcept {
                                           if (owner().process != getpid())
                                               owner().forget();
                                           owner().mutex.unlock();
                                       }});

[[noreturn]] void refuse(const char *what) {
    throw Error(ErrorKind::exchange, "shared memory: ", what, ": ", std::strerror(errno));
}

std::array<std::uint8_t, 16> draw() {
    std::array<std::uint8_t, 16> lot{};
    if (uninterrupted([&] { return getrandom(lot.data(), lot.size(), 0); }) !=
        static_cast<ssize_t>(lot.size()))
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

// True if the process at the other end belongs to this user or to root.
bool is_of_this_user(int socket) {
    ucred other{};
    socklen_t size = sizeof other;
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &size) == 0 &&
           (other.uid == geteuid() || other.uid == 0);
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
    return uninterrupted([&] { return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT); }) ==
           1;
}

// Requires: the owner's mutex is held, so that the file is not closed meanwhile.
void answer(const Client &client) {
    int file = -1;
    for (const auto &[memory, offer] : owner().offers)
        if (offer.token == client.token)
            file = offer.file;
    send_file(client.socket.number(), file);
}

// True if nothing more is expected of the client: it has its answer, has closed the connection, or
// its time is up.
bool is_served(Client &client) {
    const ssize_t count = uninterrupted([&] {
        return recv(client.socket.number(), client.token.data() + client.received,
                    client.token.size() - client.received, MSG_DONTWAIT);
    });
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return Clock::now() >= client.deadline;
    if (count <= 0)
        return true;
    client.received += static_cast<std::size_t>(count);
    if (client.received < client.token.size())
        return Clock::now() >= client.deadline;
    answer(client);
    return true;
}

// False if there is no connection to accept, or no file number for it. A client that says nothing
// gives way to a new one when there are too many.
bool accept_client(int listening, std::vector<Client> &clients) {
    OpenFile client(uninterrupted(
        [&] { return accept4(listening, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK); }));
    if (client.number() < 0)
        return errno == ECONNABORTED;
    if (!is_of_this_user(client.number()))
        return true;
    const std::lock_guard hold(owner().mutex);
    if (clients.size() == most_clients)
        clients.erase(clients.begin());
    clients.push_back({std::move(client), Clock::now() + patience_of_owner, {}, 0});
    return true;
}

// Waits until a client connects, a token comes, or the oldest client's time is up.
void wait_for_clients(int listening, const std::vector<Client> &clients) {
    std::array<pollfd, most_clients + 1> files{};
    files[0] = {listening, POLLIN, 0};
    std::size_t count = 1;
    for (const Client &client : clients)
        files[count++] = {client.socket.number(), POLLIN, 0};
    const auto left = [&] {
        return std::chrono::ceil<std::chrono::milliseconds>(clients.front().deadline -
                                                            Clock::now());
    };
    poll(files.data(), count,
         clients.empty() ? -1 : static_cast<int>(std::max(left(), 0ms).count()));
}

void serve(int listening) noexcept {
    std::vector<Client> &clients = owner().clients;
    for (;;) {
        wait_for_clients(listening, clients);
        while (accept_client(listening, clients)) {
        }
        const bool has_no_files =
            errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
        {
            const std::lock_guard hold(owner().mutex);
            std::erase_if(clients, is_served);
        }
        if (has_no_files)
            usleep(100'000);
    }
}

// The owner's mutex is held. Signals are for the threads of the program.
void start(Owner &of) {
    const std::array<std::uint8_t, 16> lot = draw();
    const Address address(getpid(), lot);
    OpenFile listening(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (listening.number() < 0 || bind(listening.number(), address.get(), address.length) != 0 ||
        listen(listening.number(), 128) != 0)
        refuse("there is no socket to hand its file out by");
    of.clients.reserve(most_clients);  // the thread cannot report a shortage of memory
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

// Returns: a file that this process has offered itself, if it has not forked since.
int own_file(const Sender &sender) {
    const std::lock_guard hold(owner().mutex);
    if (owner().socket < 0 || owner().process != sender.process ||
        owner().address != sender.address)
        return -1;
    for (const auto &[memory, offer] : owner().offers)
        if (offer.token == sender.token)
            return fcntl(offer.file, F_DUPFD_CLOEXEC, 0);
    return -1;
}

[[noreturn]] void refuse_silent(const Sender &sender) {
    throw Error(ErrorKind::exchange, "shared memory: process ", sender.process,
                " did not answer within ", patience_of_opener.count(),
                " seconds: it is stopped, or of another user");
}

// Waits until there is something to read, or a moment where `file` is -1. A signal's handler runs,
// and may end the waiting.
void wait_to_read(int file, const Sender &sender, Clock::time_point deadline) {
    constexpr int between_questions_ms = 50;
    pollfd reading{file, POLLIN, 0};
    for (int ready = 0; ready == 0;) {
        if (Clock::now() >= deadline)
            refuse_silent(sender);
        ready = poll(&reading, 1, between_questions_ms);
        if (ready <= 0 && is_interrupted()) {
            take_interruption();
            throw Interrupted(ErrorKind::exchange, "shared memory: waiting for process ",
                              sender.process, " was interrupted");
        }
        if (file < 0)
            return;
        if (ready < 0)
            ready = 0;  // a signal came
    }
}

OpenFile connect_to(const Sender &sender, Clock::time_point deadline) {
    OpenFile socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket.number() < 0)
        refuse("there is no socket to fetch its file by");
    const Address address(sender.process, sender.address);
    while (uninterrupted([&] { return connect(socket.number(), address.get(), address.length); }) !=
           0) {
        if (errno != EAGAIN)  // else as many clients wait as the owner's socket has room for
            throw Error(ErrorKind::exchange, "shared memory: process ", sender.process,
                        ", which shared it, cannot be reached: it has ended, or is in another "
                        "network namespace (container); "
                        "memory must be opened while the process that shared it has it");
        wait_to_read(-1, sender, deadline);
    }
    if (!is_of_this_user(socket.number()))
        throw Error(ErrorKind::exchange, "shared memory: process ", sender.process,
                    ", which shared it, runs as another user: memory is shared between processes "
                    "of one user");
    return socket;
}

struct Answer {
    bool has_come = false;
    bool has_file = false;
    OpenFile file{-1};
};

// Requires: there is something to read. A process that is not Entrepot may send more files than
// one: all but one are closed.
Answer receive_answer(int socket) {
    char has_file = 0;
    iovec text{&has_file, 1};
    alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &text;
    message.msg_iovlen = 1;
    message.msg_control = room;
    message.msg_controllen = sizeof room;
    Answer answer;
    if (uninterrupted([&] { return recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT); }) !=
        1)
        return answer;
    answer.has_come = true;
    answer.has_file = has_file != 0;
    for (cmsghdr *header = CMSG_FIRSTHDR(&message); header;
         header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        for (std::size_t at = CMSG_LEN(0); at + sizeof(int) <= header->cmsg_len;
             at += sizeof(int)) {
            int file = -1;
            std::memcpy(&file, reinterpret_cast<const char *>(header) + at, sizeof file);
            answer.file = OpenFile(file);
        }
    }
    return answer;
}

}  // namespace

Sender publish_file(const void *memory, int file) {
    Owner &own = owner();
    const std::lock_guard hold(own.mutex);
    if (own.socket < 0)
        start(own);
    const auto [row, is_new] = own.offers.try_emplace(memory);
    if (is_new)
        row->second = {draw(), file};
    return {own.process, own.address, row->second.token};
}

void unpublish_file(const void *memory) noexcept {
    const std::lock_guard hold(owner().mutex);
    owner().offers.erase(memory);
}

int receive_file_of(const Sender &sender) {
    if (const int own = own_file(sender); own >= 0)
        return own;
    const Clock::time_point deadline = Clock::now() + patience_of_opener;
    const OpenFile socket = connect_to(sender, deadline);
    Answer answer;
    if (uninterrupted([&] {
            return send(socket.number(), sender.token.data(), sender.token.size(), MSG_NOSIGNAL);
        }) == static_cast<ssize_t>(sender.token.size())) {
        wait_to_read(socket.number(), sender, deadline);
        answer = receive_answer(socket.number());
    }
    if (answer.file.number() >= 0)
        return answer.file.detach();
    if (answer.has_come && !answer.has_file)
        throw Error(ErrorKind::exchange, "shared memory: process ", sender.process,
                    " has released the memory of this handle: keep it until it has been opened");
    if (answer.has_come)
        throw Error(ErrorKind::exchange, "shared memory: process ", sender.process,
                    " sent its file, and this process cannot receive it: it has too many open "
                    "files (see `ulimit -n`)");
    throw Error(ErrorKind::exchange, "shared memory: process ", sender.process,
                " closed the connection without an answer: it has ended, is of another user, or "
                "too many processes ask it at once");
}

}  // namespace entrepot::senders
