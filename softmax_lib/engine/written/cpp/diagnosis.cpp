// What is wrong with a block, in words.
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "worker.h"

namespace emulator {

static const char* name_of(Operation operation) {
#define SECOND(name, words) words,
    static const char* const names[] = {EMULATOR_OPERATIONS(SECOND)};
    return names[static_cast<int>(operation)];
}

static const char* file_name(Place place) {
    const char* slash = strrchr(place.file, '/');
    return slash ? slash + 1 : place.file;
}

static std::string in_words(Place place, bool with_column) {
    std::string words = std::string(file_name(place)) + ":" + std::to_string(place.line);
    return with_column ? words + ":" + std::to_string(place.column) : words;
}

// Whether threads wait at barriers that only their columns tell apart.
static bool columns_matter(const Worker& worker) {
    const Thread* first = worker.block->first_arrived;
    if (!first) return false;
    for (int i = 0; i < worker.shape.threads; i++) {
        const Thread& thread = worker.block->threads[i];
        if (thread.state != State::at_barrier || thread.place.line != first->place.line) continue;
        if (thread.place.column != first->place.column) return true;
    }
    return false;
}

static std::string block_name(const Worker& worker) {
    const unsigned* axes = worker.block->axes;
    return "block (" + std::to_string(axes[0]) + "," + std::to_string(axes[1]) + "," + std::to_string(axes[2]) + ")";
}

// "thread 3", "threads 0-2,4-63", "threads 0,2,4,6,8,10,..."
static std::string in_words(const std::vector<int>& threads) {
    constexpr int most_runs = 6;
    std::string list;
    int runs = 0;
    for (size_t i = 0; i < threads.size();) {
        size_t last = i;
        while (last + 1 < threads.size() && threads[last + 1] == threads[last] + 1) last++;
        if (runs++ == most_runs) {
            list += ",...";
            break;
        }
        if (!list.empty()) list += ",";
        list += std::to_string(threads[i]);
        if (last > i) list += "-" + std::to_string(threads[last]);
        i = last + 1;
    }
    return (threads.size() == 1 ? "thread " : "threads ") + list;
}

static std::string doing(const Thread& thread, bool many, bool with_column) {
    switch (thread.state) {
        case State::exited: return "exited";
        case State::not_started: return many ? "have not started" : "has not started";
        case State::running: return many ? "run" : "runs";
        default: break;
    }
    std::string mask;
    if (thread.state == State::in_warp_call) {
        char digits[32];
        snprintf(digits, sizeof digits, " mask 0x%08x", thread.call->mask);
        mask = digits;
    }
    std::string verb = thread.state == State::polling ? (many ? "wait for " : "waits for ") : (many ? "wait at " : "waits at ");
    std::string where = thread.place.file ? " " + in_words(thread.place, with_column) : "";
    return verb + name_of(thread.operation) + mask + where;
}

// Who does what: "thread 3 exited; threads 0-2,4-63 wait at __syncthreads() tree.cu:6".
static std::string census(const Worker& worker, const Thread* leave_out) {
    std::vector<std::pair<std::string, std::vector<int>>> groups;
    bool with_column = columns_matter(worker);
    for (int i = 0; i < worker.shape.threads; i++) {
        const Thread& thread = worker.block->threads[i];
        if (&thread == leave_out) continue;
        std::string key = doing(thread, true, with_column);
        size_t at = 0;
        while (at < groups.size() && groups[at].first != key) at++;
        if (at == groups.size()) groups.push_back({key, {}});
        groups[at].second.push_back(i);
    }
    std::string exited, others;
    for (const auto& [key, threads] : groups) {
        const Thread& first = worker.block->threads[threads[0]];
        std::string clause = in_words(threads) + " " + doing(first, threads.size() > 1, with_column);
        std::string& list = first.state == State::exited ? exited : others;
        list += (list.empty() ? "" : "; ") + clause;
    }
    return exited + (exited.empty() || others.empty() ? "" : "; ") + others;
}

static Fault fault_of(const Worker& worker, FaultKind kind, const std::string& text) {
    Fault fault{};
    fault.kind = kind;
    fault.block = worker.block->number;
    fault.thread = worker.running ? worker.running->index : 0;
    snprintf(fault.text, sizeof fault.text, "%s", text.c_str());
    return fault;
}

static uint64_t offset_of(const Worker& worker, const void* pc) {
    return pc ? worker.launch->library.site_of(pc) : 0;
}

static void set_place(Fault& fault, Place place) {
    fault.line = place.line;
    snprintf(fault.file, sizeof fault.file, "%s", file_name(place));
}

static void set_address(const Worker& worker, Fault& fault, uintptr_t address) {
    // Near the block's shared memory, but in no array: it was meant to be there.
    constexpr int64_t near = 64 << 10;
    uintptr_t offset;
    bool is_elsewhere = worker.shared_owner(address, offset) && offset != address - reinterpret_cast<uintptr_t>(worker.shared_low);
    int64_t shared = static_cast<int64_t>(is_elsewhere ? offset : address - reinterpret_cast<uintptr_t>(worker.shared_low));
    fault.in_shared = worker.shared_low && shared >= -near &&
                      shared < static_cast<int64_t>(worker.launch->library.shared_bytes) + near;
    fault.address = fault.in_shared ? static_cast<uint64_t>(shared) : address;
}

static bool waits(const Thread& thread) {
    return thread.state != State::exited && thread.state != State::running && thread.state != State::not_started;
}

// The first block whose threads wait: what is said is said of that one.
static void choose_block(Worker& worker) {
    for (size_t i = 0; i < worker.live_blocks; i++) {
        if (worker.blocks[i].exited == worker.shape.threads) continue;
        worker.block = &worker.blocks[i];
        return;
    }
}

// How many threads of the block are in each state.
struct Tally {
    int of[static_cast<int>(State::exited) + 1] = {};

    explicit Tally(const Worker& worker) {
        for (int i = 0; i < worker.shape.threads; i++) of[static_cast<int>(worker.block->threads[i].state)]++;
    }
    int operator()(State state) const { return of[static_cast<int>(state)]; }
};

static FaultKind kind_of_stall(const Tally& tally) {
    if (tally(State::polling)) return FaultKind::waiting;
    return tally(State::in_warp_call) ? FaultKind::deadlock : FaultKind::barrier;
}

static std::string lead_of_stall(const Worker& worker, const Tally& tally) {
    std::string block = block_name(worker);
    switch (kind_of_stall(tally)) {
        case FaultKind::waiting: return "in " + block + " ";
        case FaultKind::deadlock: return "deadlock in " + block + ": ";
        default: break;
    }
    if (tally(State::at_wide_barrier)) return "not every thread reaches the barrier that " + block + " waits at: ";
    if (tally(State::exited)) return "barrier not reached by every thread of " + block + ": ";
    return "threads of " + block + " wait at different barriers: ";
}

// Its place is where the first thread waits that the text names; of one that polls, if any does.
Fault describe_stall(Worker& worker) {
    choose_block(worker);
    Tally tally(worker);
    Fault fault = fault_of(worker, kind_of_stall(tally), lead_of_stall(worker, tally) + census(worker, nullptr));
    bool polls = fault.kind == FaultKind::waiting;
    for (int i = 0; i < worker.shape.threads; i++) {
        const Thread& thread = worker.block->threads[i];
        if (!waits(thread) || (polls && thread.state != State::polling)) continue;
        fault.thread = i;
        if (polls) set_address(worker, fault, thread.received);
        if (thread.place.file) set_place(fault, thread.place);
        else fault.pc = static_cast<uint64_t>(thread.place.line);
        break;
    }
    return fault;
}

static Fault fault_at(const Worker& worker, FaultKind kind, const std::string& text, const void* pc, bool pc_is_exact) {
    Fault fault = fault_of(worker, kind, text);
    fault.pc = offset_of(worker, pc);
    fault.pc_is_exact = pc_is_exact;
    return fault;
}

// The text is what the others do; faults.py says where the running thread is, and for how long.
Fault describe_hang(const Worker& worker, const void* pc, bool pc_is_exact) {
    return fault_at(worker, FaultKind::hang, census(worker, worker.running), pc, pc_is_exact);
}

Fault describe_failure(const Worker& worker, const char* what, Place place) {
    Fault fault = fault_of(worker, FaultKind::other, what);
    set_place(fault, place);
    return fault;
}

Fault describe_call(const Worker& worker, const char* what, const void* pc) {
    return fault_at(worker, FaultKind::other, what, pc, false);
}

Fault describe_access(const Worker& worker, Access access, int size, uintptr_t address, const void* pc) {
    Fault fault = fault_at(worker, FaultKind::address, "", pc, false);
    fault.access = access;
    fault.size = size;
    set_address(worker, fault, address);
    return fault;
}

Fault describe_trap(const Worker& worker, const char* what) {
    return fault_at(worker, FaultKind::other, what, worker.interruption.pc, worker.interruption.pc_is_exact);
}

// The compiler puts a trap before each access that it was told to check (flags.py), and nowhere else.
Fault describe_misaligned(const Worker& worker) {
    Fault fault = describe_trap(worker, "");
    fault.kind = FaultKind::address;
    fault.is_misaligned = true;
    return fault;
}

}  // namespace emulator
