// Barriers in shared memory that count arrivals and bytes: an mbarrier of PTX.
#include <cstring>

#include "lanes.h"
#include "numbers.h"
#include "operations.h"
#include "run.h"

namespace machine {

namespace {

// As the code that sets one writes it: bits 1 to 20 are minus the arrivals of a phase, 43 to 62 minus those that it still
// lacks, 63 its parity. Where the hardware has the bytes that are to come is not known; here these are bits 21 to 42.
struct Mbarrier {
    uint64_t word;

    static uint64_t mask(int bits) { return (uint64_t{1} << bits) - 1; }
    uint64_t get(int from, int bits) const { return word >> from & mask(bits); }
    void set(int from, int bits, uint64_t value) { word = (word & ~(mask(bits) << from)) | (value & mask(bits)) << from; }

    // So many arrivals and bytes less to come. Whether that ends the phase.
    bool lacks_less(uint64_t arrivals, uint64_t bytes) {
        set(43, 20, get(43, 20) + arrivals);
        set(21, 22, get(21, 22) - bytes);
        if (get(43, 20) || get(21, 22)) return false;
        word ^= uint64_t{1} << 63;
        set(43, 20, get(1, 20));
        return true;
    }
};

uint32_t address_of(Warp& w, const Instruction& i, int lane) {
    return w.row(i.a)[lane] + w.row(i.b)[lane] + static_cast<uint32_t>(i.offset);
}

// What it was before.
uint64_t change(Block& block, int lane, uint32_t address, uint64_t arrivals, uint64_t bytes) {
    uint8_t* at = place_in_shared(block, lane, address, sizeof(Mbarrier));
    Mbarrier barrier;
    memcpy(&barrier, at, sizeof barrier);
    uint64_t before = barrier.word;
    bool ends = barrier.lacks_less(arrivals, bytes);
    memcpy(at, &barrier, sizeof barrier);
    if (ends) end_phase(*block.cluster->blocks[rank_of(block, address)], address);
    return before;
}

// To the word of rows c, or (variant bit 0) for as many arrivals as row c says.
void set_mbarrier(Warp& w, const Instruction& i, uint32_t lanes) {
    int lane = __builtin_ctz(lanes);
    uint64_t word = pair(w.row(i.c)[lane], w.row(i.c + 1u)[lane]);
    if (i.variant & 1) {
        uint64_t lacking = (uint64_t{1} << 20) - w.row(i.c)[lane];
        word = lacking << 43 | lacking << 1;
    }
    memcpy(place_in_shared(*w.block, lane, address_of(w, i, lane), sizeof word), &word, sizeof word);
}

// Each lane arrives (variant bit 0) once, or as often as row c says (1); or bytes as c says are to come (2). Rows d: the
// state before.
void arrive(Warp& w, const Instruction& i, uint32_t lanes) {
    const uint32_t* c = w.row(i.c);
    uint32_t *d = w.row(i.d), *d2 = w.row(i.d + 1u);
    for (int lane : EachLane{lanes}) {
        uint64_t arrivals = i.variant & 2 ? c[lane] : i.variant & 1, bytes = i.variant & 4 ? c[lane] : 0;
        uint64_t before = change(*w.block, lane, address_of(w, i, lane), arrivals, 0 - bytes);
        d[lane] = low_of(before);
        d2[lane] = high_of(before);
    }
}

// Words of rows d into shared memory of a block of the cluster, at row a; they are bytes that the mbarrier at row b has
// been told of.
void store_and_tell(Warp& w, const Instruction& i, uint32_t lanes) {
    const uint32_t *a = w.row(i.a), *b = w.row(i.b);
    Runner& runner = *w.block->runner;
    Counts& counted = runner.counts_of(i.site, runner.column_of(CLUSTER));
    auto many = static_cast<uint64_t>(__builtin_popcount(lanes));
    counted.requests++;
    counted.lanes += many;
    counted.bytes += many * i.bytes;
    for (int lane : EachLane{lanes}) {
        uint8_t* to = place_in_shared(*w.block, lane, a[lane] + static_cast<uint32_t>(i.offset), i.bytes);
        for (unsigned n = 0; n < i.bytes / 4u; n++) memcpy(to + 4 * n, &w.row(i.d + n)[lane], 4);
        change(*w.block, lane, b[lane], 0, i.bytes);
    }
}

// d: the address a, of shared memory, in the block of rank b.
void to_rank(Warp& w, const Instruction& i, uint32_t lanes) {
    uint32_t first = w.block->launch->first_rank;
    map(w, i, lanes, [&](uint32_t a, uint32_t b, uint32_t) { return without_rank(a) | (b + first) << RANK_SHIFT; });
}

}  // namespace

const Operation MBARRIER_OPERATIONS[] = {
    {"set mbarrier", set_mbarrier},
    {"arrive at mbarrier", arrive},
    {"store and tell", store_and_tell},
    {"to rank", to_rank},
    {nullptr, nullptr},
};

}  // namespace machine
