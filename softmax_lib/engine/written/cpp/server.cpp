// The emulator's own process. It answers what Python asks over a socket, one question at a time, and
// runs kernels: whatever a kernel does to its process, it does to this one.
#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "heap.h"
#include "launch.h"

namespace emulator {

enum class Verb : uint32_t { load, symbol, read, write, map, unmap, clear, start, await, stop, outcome };

// ---- bytes from and to Python

// The other end is gone, or what came is no question: there is nobody left to tell.
[[noreturn]] static void leave() { _exit(0); }

static void send_bytes(int socket, const void* from, size_t bytes) {
    const char* at = static_cast<const char*>(from);
    while (bytes) {
        ssize_t sent = write(socket, at, bytes);
        if (sent <= 0) leave();
        at += sent;
        bytes -= static_cast<size_t>(sent);
    }
}

static void receive_bytes(int socket, void* to, size_t bytes) {
    char* at = static_cast<char*>(to);
    while (bytes) {
        ssize_t got = read(socket, at, bytes);
        if (got <= 0) leave();
        at += got;
        bytes -= static_cast<size_t>(got);
    }
}

// The first bytes of a question, and the file that may come with it; -1 without one.
static int receive_first(int socket, void* to, size_t bytes) {
    char control[CMSG_SPACE(sizeof(int))];
    iovec place{to, bytes};
    msghdr message{};
    message.msg_iov = &place;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    ssize_t got = recvmsg(socket, &message, 0);
    if (got <= 0) leave();
    receive_bytes(socket, static_cast<char*>(to) + got, bytes - static_cast<size_t>(got));
    int file = -1;
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_type == SCM_RIGHTS) memcpy(&file, CMSG_DATA(header), sizeof file);
    return file;
}

// What a question holds, taken piece by piece.
class Pieces {
public:
    explicit Pieces(std::vector<char> bytes) : bytes_(std::move(bytes)) {}

    const char* take(uint64_t count) {
        if (count > bytes_.size() - at_) leave();
        at_ += count;
        return bytes_.data() + (at_ - count);
    }
    template <class T>
    T take() {
        T value;
        memcpy(&value, take(sizeof value), sizeof value);
        return value;
    }
    template <class T>
    std::vector<T> take_many(uint64_t count) {
        std::vector<T> values(count);
        if (count) memcpy(values.data(), take(count * sizeof(T)), count * sizeof(T));
        return values;
    }
    std::string rest() {
        size_t count = bytes_.size() - at_;
        return std::string(take(count), count);
    }

private:
    std::vector<char> bytes_;
    size_t at_ = 0;
};

// ---- what a launch points to

// As aligned as any value among the arguments.
struct alignas(128) Aligned {
    char bytes[128];
};

struct Running {
    Launch* launch = nullptr;
    std::vector<std::vector<Aligned>> arguments;
    std::vector<void*> addresses;
};

// ---- answers

class Server {
public:
    explicit Server(int socket) : socket_(socket) {}
    void answer_next();

private:
    struct Question {
        Verb verb;
        uint32_t bytes;
    };
    struct Mapped {
        void* address;
        uint64_t bytes;
    };

    void answer(const void* content, uint64_t bytes) {
        send_bytes(socket_, &bytes, sizeof bytes);
        send_bytes(socket_, content, bytes);
    }
    template <class T>
    void answer(const T& value) {
        answer(&value, sizeof value);
    }
    void answer(const std::string& text) { answer(text.data(), text.size()); }

    void load(Pieces& given);
    void symbol(Pieces& given);
    void map(Pieces& given, int file);
    void unmap(uint64_t kept);
    void start(Pieces& given);
    void await(Pieces& given);
    void outcome();

    int socket_;
    std::vector<Mapped> mapped_;
    Running running_;
};

void Server::answer_next() {
    Question question;
    int file = receive_first(socket_, &question, sizeof question);
    std::vector<char> content(question.bytes);
    receive_bytes(socket_, content.data(), content.size());
    Pieces given(std::move(content));
    switch (question.verb) {
        case Verb::load: return load(given);
        case Verb::symbol: return symbol(given);
        case Verb::read: {
            auto [address, bytes] = given.take<Mapped>();
            return answer(address, bytes);
        }
        case Verb::write: {
            char* address = given.take<char*>();
            std::string bytes = given.rest();
            memcpy(address, bytes.data(), bytes.size());
            return answer(nullptr, 0);
        }
        case Verb::map: return map(given, file);
        case Verb::unmap: return unmap(given.take<uint64_t>());
        case Verb::clear:
            heap().clear();
            return answer(nullptr, 0);
        case Verb::start: return start(given);
        case Verb::await: return await(given);
        case Verb::stop:
            emulator_stop(running_.launch);
            return answer(nullptr, 0);
        case Verb::outcome: return outcome();
    }
    leave();
}

// A kernel's library by its path: a number for it and where it lies, or zeros and why it cannot be loaded.
void Server::load(Pieces& given) {
    struct {
        void* library;
        uint64_t base;
    } loaded{dlopen(given.rest().c_str(), RTLD_NOW | RTLD_LOCAL), 0};
    std::string why = loaded.library ? "" : dlerror();
    if (loaded.library) loaded.base = Library(dlsym(loaded.library, "emulator_call_0")).base;
    answer(std::string(reinterpret_cast<const char*>(&loaded), sizeof loaded) + why);
}

void Server::symbol(Pieces& given) {
    void* library = given.take<void*>();
    answer(dlsym(library, given.rest().c_str()));
}

// An array: pages that Python has too. The answer is 0 or what was wrong.
void Server::map(Pieces& given, int file) {
    Mapped array = given.take<Mapped>();
    off_t place = given.take<off_t>();
    void* got = mmap(array.address, array.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, place);
    int wrong = got == MAP_FAILED ? errno : 0;
    close(file);
    if (got != MAP_FAILED && got != array.address) {
        munmap(got, array.bytes);
        wrong = EEXIST;
    } else if (!wrong) {
        mapped_.push_back(array);
    }
    answer(wrong);
}

// All arrays but the first so many.
void Server::unmap(uint64_t kept) {
    for (; mapped_.size() > kept; mapped_.pop_back()) munmap(mapped_.back().address, mapped_.back().bytes);
    answer(nullptr, 0);
}

void Server::start(Pieces& given) {
    Request request = given.take<Request>();
    void* library = given.take<void*>();
    uint64_t entry = given.take<uint64_t>(), arguments = given.take<uint64_t>();
    running_ = Running();
    for (uint64_t i = 0; i < arguments; i++) {
        uint64_t bytes = given.take<uint64_t>();
        running_.arguments.emplace_back(bytes / sizeof(Aligned) + 1);
        running_.addresses.push_back(running_.arguments.back().data());
        memcpy(running_.addresses.back(), given.take(bytes), bytes);
    }
    auto arrays = given.take_many<Array>(static_cast<uint64_t>(request.array_count));
    auto variables = given.take_many<Array>(static_cast<uint64_t>(request.variable_count));
    auto lines = given.take_many<Line>(static_cast<uint64_t>(request.line_count));
    std::string name = "emulator_call_" + std::to_string(entry);
    request.entry = reinterpret_cast<emulator_entry>(dlsym(library, name.c_str()));
    request.arguments = running_.addresses.data();
    running_.launch = emulator_start(request, std::move(arrays), std::move(variables), lines);
    answer(nullptr, 0);
}

// Waits at most so many seconds: whether all is done, and how many threads have finished.
void Server::await(Pieces& given) {
    struct {
        uint64_t is_done, finished;
    } progress;
    progress.is_done = static_cast<uint64_t>(emulator_await(running_.launch, given.take<double>()));
    progress.finished = emulator_progress(running_.launch);
    answer(progress);
}

// Once all is done: what stopped it, and all that was written down, after how many there are of each.
void Server::outcome() {
    Launch* launch = running_.launch;
    static const std::vector<LineCounts> nothing_counted;
    const auto& counts = launch->meter ? launch->meter->requests.counts : nothing_counted;
    const auto& hazards = launch->meter ? launch->meter->hazards.found() : std::vector<Hazard>();
    uint64_t records = launch->fault.kind == FaultKind::none ? launch->records.size() : 0;
    const uint64_t sizes[] = {records, counts.size(), hazards.size(), launch->printed.size(), launch->unprinted};
    const std::pair<const void*, uint64_t> parts[] = {
        {&launch->fault, sizeof(Fault)},
        {&sizes, sizeof sizes},
        {launch->records.data(), records * sizeof(Record)},
        {counts.data(), counts.size() * sizeof(LineCounts)},
        {hazards.data(), hazards.size() * sizeof(Hazard)},
        {launch->printed.data(), launch->printed.size()},
    };
    uint64_t bytes = 0;
    for (const auto& part : parts) bytes += part.second;
    send_bytes(socket_, &bytes, sizeof bytes);
    for (const auto& part : parts) send_bytes(socket_, part.first, part.second);
    emulator_finish(launch);
    running_ = Running();
}

}  // namespace emulator

// Answers over the socket with this number until nobody asks any more; the other file is a page that
// Python can read when this process has ended.
EMULATOR_API void emulator_serve(int socket, int black_box) {
    signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    void* page = mmap(nullptr, sizeof(emulator::BlackBox), PROT_READ | PROT_WRITE, MAP_SHARED, black_box, 0);
    if (page != MAP_FAILED) emulator::black_box = static_cast<emulator::BlackBox*>(page);
    emulator::Server server(socket);
    for (;;) server.answer_next();
}
