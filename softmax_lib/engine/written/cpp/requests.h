// What warps ask of memory, counted as the hardware counts it.
//
// Lanes of a warp make one request together, so their accesses are matched: those of one source
// line, and each lane's n-th of them since the warp last met (at a barrier, shuffle or vote), belong
// together. Lines and not instructions, since the C++ compiler makes several copies of some.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "hazards.h"
#include "kernel_interface.h"
#include "rules.h"

namespace emulator {

using namespace engine;

// What one line asked for in all, of one array. Requests are those of warps; of barriers, of blocks.
struct LineCounts : Counts {
    uint32_t place;
    int32_t operation;
    int32_t is_shared;
    int32_t size;         // bytes a lane
    int32_t array;        // global arrays first, then shared variables; -1: neither
    int32_t unused;
};
static_assert(sizeof(LineCounts) == 72);

class Requests {
public:
    Requests(int block_size, int warp_size) : warps_((block_size + warp_size - 1) / warp_size), warp_size_(warp_size) {}

    void start_block(size_t slot);
    void access(size_t slot, const ThreadAccess& access, uint32_t site);
    void call(uint32_t place, Operation operation, unsigned lanes);
    void close(size_t slot, int warp);     // all lanes of the warp have met
    void close_all(size_t slot);

    std::vector<LineCounts> counts;
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
    // Where the counts of an instruction's accesses are, by operation; -1 before it was seen.
    struct Known {
        int32_t index[3] = {-1, -1, -1};
        int32_t array[3] = {-1, -1, -1};
    };

    uint32_t index_of(uint32_t place, Operation operation, bool is_shared, unsigned size, int array);
    uint32_t index_of(const ThreadAccess& access, uint32_t site);
    static void close_line(LineCounts& line, Pending& pending);
    static void gather(Pending& pending);
    static void count_request(LineCounts& line, uint32_t lanes, const uint64_t* addresses);

    size_t warps_;
    int warp_size_;
    std::vector<Known> known_;                                // by site
    std::vector<std::vector<std::vector<Pending>>> pending_;  // by slot, warp and index in `counts`
    std::unordered_map<uint64_t, uint32_t> index_of_;
};

}  // namespace emulator
