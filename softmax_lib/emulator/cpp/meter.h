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

// What one line asked for in all; metering.py has the same layout.
struct LineCounts {
    uint64_t requests;    // by warps; of barriers: by blocks
    uint64_t lanes;       // that took part
    uint64_t sectors;     // global: 32-byte sectors touched
    uint64_t wavefronts;  // shared: passes that the banks need
    uint64_t ideal;       // shared: passes without a conflict
    uint32_t place;
    int32_t operation;
    int32_t is_shared;
    int32_t size;         // bytes a lane
};
static_assert(sizeof(LineCounts) == 56);

enum class HazardKind : int32_t { race, uninitialised, absent_lane };

// Two accesses that nothing orders, a read of what nobody wrote, or a shuffle from a lane that takes
// no part; the first of `times`.
struct Hazard {
    uint64_t address;     // global: of the byte; shared: offset in the block's shared memory; or the lane
    uint64_t times;
    HazardKind kind;
    uint32_t place, other_place;
    int32_t thread, other_thread;
    int32_t block;
    int32_t is_shared;
    int32_t is_store, other_is_store;
    int32_t unused;
};
static_assert(sizeof(Hazard) == 56);

struct WarpAccess {
    int thread;
    Operation operation;
    bool is_shared;
    uint64_t address;
    unsigned size;
    uint32_t place;
};

class Meter {
public:
    Meter(const std::vector<Array>& arrays, const std::vector<Line>& lines, size_t shared_bytes,
          int block_size, int warp_size);

    // Of the instruction that returns to `site`, an offset in the kernel's library.
    uint32_t place_of(uint32_t site);

    void start_block(uint64_t block);
    void access(const WarpAccess& access);
    void call(uint32_t place, Operation operation);  // a barrier by a block, a warp call by a warp
    void absent_lane(uint32_t place, int thread, int lane);
    void meet_block();           // all threads have reached a barrier
    void meet_warp(int warp);    // all lanes of a warp have reached a warp call
    void end_block();

    std::vector<LineCounts> counts;
    std::vector<Hazard> hazards;

private:
    // What the lanes of a warp asked for at one line since they last met, request by request.
    struct Pending {
        uint64_t key;
        uint32_t index;                   // in `counts`
        uint32_t times[32];               // by lane: requests it took part in
        std::vector<uint32_t> lanes;      // by request: who took part
        std::vector<uint64_t> addresses;  // by request and lane
    };
    // When, where and by whom a word was touched. Epochs count meetings; 0 is never.
    struct Touch {
        uint32_t epoch = 0, place = 0;
        uint32_t thread = 0;
    };
    // The last write, the last read, and the last read by somebody else than that reader: whoever
    // writes next differs from one of the two.
    struct Word {
        Touch write, read, other_read;
    };
    struct Stretch {
        uint64_t address, bytes;
        std::vector<Word> words;
    };

    uint32_t index_of(uint64_t key, uint32_t place, Operation operation, bool is_shared, unsigned size);
    Pending& pending_of(int warp, const WarpAccess& access);
    void close_requests(int warp);
    static void count_request(LineCounts& line, const uint64_t* addresses, int lanes);
    void watch(const WarpAccess& access);
    void watch_word(Word& word, const WarpAccess& access, uint64_t address);
    bool is_current(const Touch& touch, bool is_shared) const;
    bool is_ordered(const Touch& before, int now) const;
    void report(HazardKind kind, const WarpAccess& access, uint64_t address, const Touch& other,
                bool other_is_store);
    int warp_of(int thread) const { return thread / warp_size_; }

    std::vector<Line> lines_;
    std::vector<int64_t> place_of_;   // by site, once looked up; -1 before
    int warp_size_, block_ = 0;
    std::vector<Stretch> arrays_;
    std::vector<Word> shared_;
    std::vector<std::vector<Pending>> pending_;   // by warp
    uint32_t epoch_ = 1, block_epoch_ = 1, barrier_epoch_ = 1;
    std::vector<uint32_t> warp_epochs_;
    std::unordered_map<uint64_t, uint32_t> index_of_;
    std::map<std::tuple<HazardKind, uint32_t, uint32_t>, size_t> hazard_of_;
};

}  // namespace emulator
