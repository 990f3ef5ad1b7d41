// A metered launch: what warps ask of memory, counted as the hardware counts it, and hazards.
//
// The hooks of a traced launch feed it one access of one thread at a time. Lanes of a warp make one
// request together, so their accesses are matched: those of one source line, and each lane's n-th
// of them since the warp last met (at a barrier, shuffle or vote), belong together. Lines and not
// instructions, since the C++ compiler makes several copies of some.
#pragma once
#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "kernel_interface.h"

namespace emulator {

struct Array;

// Where a line's instructions begin, in ascending order of `start`.
struct Line {
    uint64_t start;  // in the kernel's library
    uint32_t place;  // number of file and line
    uint32_t unused;
};

// What one line asked for in all.
struct LineCounts {
    uint64_t requests;    // by warps; of barriers: by blocks
    uint64_t lanes;       // that took part
    uint64_t bytes;       // that they asked for, each once a request
    uint64_t sectors;     // global: 32-byte sectors touched
    uint64_t wavefronts;  // shared: passes that the banks need
    uint64_t ideal;       // shared: passes without a conflict
    uint32_t place;
    int32_t operation;
    int32_t is_shared;
    int32_t size;         // bytes a lane
};
static_assert(sizeof(LineCounts) == 64);

enum class HazardKind : int32_t { race, uninitialised, absent_lane, input_written };

// Two accesses that nothing orders, a read of what nobody wrote, a shuffle from a lane that takes no
// part, or a write into an array that is only to be read; the first of `times`.
struct Hazard {
    uint64_t address;     // global: of the byte; shared: offset in the block's shared memory; or the lane
    uint64_t times;
    HazardKind kind;
    uint32_t place, other_place;
    int32_t thread, other_thread;
    int32_t block;
    int32_t is_shared;
    int32_t is_store, other_is_store;
    int32_t other_is_elsewhere;   // in another block
};
static_assert(sizeof(Hazard) == 56);

struct WarpAccess {
    int thread;
    Operation operation;
    bool is_shared;
    uint64_t address;
    unsigned size;
    uint32_t site;   // of the instruction
    uint32_t place;  // filled in by the meter
};

class Meter {
public:
    // The first `inputs` of `arrays` are only to be read.
    Meter(const std::vector<Array>& arrays, int inputs, const std::vector<Line>& lines,
          size_t shared_bytes, int block_size, int warp_size);

    // Of the instruction that returns to `site`, an offset in the kernel's library.
    uint32_t place_of(uint32_t site) { return known(site).place; }

    void start_block(uint64_t block);
    void access(WarpAccess access);
    void call(uint32_t place, Operation operation);  // a barrier by a block, a warp call by a warp
    void absent_lane(uint32_t place, int thread, int lane);
    void meet_block();           // all threads have reached a barrier
    void meet_warp(int warp);    // all lanes of a warp have reached a warp call
    void end_block();

    std::vector<LineCounts> counts;
    std::vector<Hazard> hazards;
    bool is_complete = true;     // a line was not gone through more often than can be counted

private:
    // Accesses of one lane that follow one another in a log, from `start` on.
    struct Run {
        uint32_t lane, start;
    };
    // What the lanes of a warp asked for at one line since they last met.
    struct Pending {
        std::vector<uint64_t> addresses;
        std::vector<Run> runs;
    };
    // When, where and by whom a word was touched. Epochs count meetings; 0 is never.
    struct Touch {
        uint32_t epoch = 0;
        uint32_t place : 21, is_atomic : 1, thread : 10;

        Touch() : place(0), is_atomic(0), thread(0) {}
        Touch(uint32_t epoch, const WarpAccess& access)
            : epoch(epoch),
              place(access.place),
              is_atomic(access.operation == Operation::atomic),
              thread(static_cast<uint32_t>(access.thread)) {}
    };
    // The last write, the last read, and the last read by somebody else than that reader: whoever
    // writes next differs from one of the two.
    struct Word {
        Touch write, read, other_read;
    };
    struct Stretch {
        uint64_t address, bytes;
        bool is_input;
        std::vector<Word> words;
    };

    // Of an instruction: where it stands, and where the counts of its accesses are, by operation
    // and kind of memory; -1 before it was seen.
    struct Known {
        int32_t place = -1;
        int32_t index[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    };

    Known& known(uint32_t site) {
        if (site < known_.size() && known_[site].place >= 0) return known_[site];
        return look_up(site);
    }
    Known& look_up(uint32_t site);
    uint32_t index_of(uint32_t place, Operation operation, bool is_shared, unsigned size);
    Pending& pending_of(int warp, uint32_t index) {
        std::vector<Pending>& lines = pending_[warp];
        if (index >= lines.size()) lines.resize(index + 1);
        return lines[index];
    }
    void close_requests(int warp);
    static void close_line(LineCounts& line, Pending& pending);
    static void gather(Pending& pending);
    static void count_request(LineCounts& line, const uint64_t* addresses, int lanes);
    void watch(const WarpAccess& access);
    void watch_word(Word& word, const WarpAccess& access, uint64_t address);
    bool is_current(const Touch& touch, bool is_shared) const;
    bool is_ordered(const Touch& before, int now) const;
    void report(HazardKind kind, const WarpAccess& access, uint64_t address, const Touch& other,
                bool other_is_store);
    int warp_of(int thread) const { return thread / warp_size_; }

    std::vector<Line> lines_;
    std::vector<Known> known_;        // by site
    int warp_size_, block_ = 0;
    std::vector<Stretch> arrays_;
    std::vector<Word> shared_;
    std::vector<std::vector<Pending>> pending_;   // by warp and index in `counts`
    uint32_t epoch_ = 1, block_epoch_ = 1, barrier_epoch_ = 1;
    std::vector<uint32_t> warp_epochs_;
    std::unordered_map<uint64_t, uint32_t> index_of_;
    std::map<std::tuple<HazardKind, uint32_t, uint32_t>, size_t> hazard_of_;
};

}  // namespace emulator
