// Loads, stores, atomics: each checked, done and counted as one request of the warp.
#include <algorithm>
#include <cstring>

#include "lanes.h"
#include "numbers.h"
#include "rules.h"
#include "run.h"

namespace machine {

using namespace engine;

uint8_t* place_in_shared(Block& block, int lane, uint64_t address, uint64_t bytes) {
    const Launch& launch = *block.launch;
    uint32_t rank = rank_of(block, address);
    Block* owner = &block;
    if (rank != block.rank) {
        const auto& blocks = block.cluster->blocks;
        if (rank >= blocks.size()) throw Stop{OUT_OF_BOUNDS, lane, address, SHARED};
        owner = blocks[rank].get();
        if (!owner->live) throw Stop{BLOCK_GONE, lane, address, SHARED};
    }
    uint64_t from = uint64_t{without_rank(address)} - launch.shared_base;
    if (address & (bytes - 1)) throw Stop{MISALIGNED, lane, address, SHARED};
    if (from + bytes > launch.shared_bytes || from > launch.shared_bytes) throw Stop{OUT_OF_BOUNDS, lane, address, SHARED};
    return owner->shared.data() + from;
}

namespace {

// Where a site's memory is: variant bits 0 and 1; 2: told by the address; 3: the address has 64 bits, of rows a and a + 1;
// 4: signed; 5: row a alone, and 64 bits of rows b and b + 1; from bit 8 on, for atomics, what they do. Row b is added
// to the address, and row a counts times 2^flip[1].
enum Flags : uint32_t { SPACE = 3, GENERIC = 4, WIDE_ADDRESS = 8, SIGNED = 16, NARROW_REGISTER = 32, FILLS = 64, BYPASSES = 128, TOLD = 256 };

struct Access {
    Warp& w;
    const Instruction& i;
    uint32_t lanes;
    uint64_t at[WARP];
    Space space;
    const uint64_t* into = nullptr;  // of a copy, where it goes in shared memory
    Ask what = Ask::STORE;
    bool is_exchange = false;

    Access(Warp& warp, const Instruction& instruction, uint32_t those) : w(warp), i(instruction), lanes(those) {
        const uint32_t *a = w.row(i.a), *b = w.row(i.b);
        auto offset = static_cast<uint64_t>(static_cast<int64_t>(i.offset));
        if (i.variant & WIDE_ADDRESS) {
            const uint32_t *a2 = w.row(i.a + 1u), *b2 = w.row(i.b + 1u);
            uint32_t upper = i.variant & NARROW_REGISTER ? 0 : ALL;
            LANES at[k] = pair(a[k], a2[k] & upper) + pair(b[k], b2[k]) + offset;
        } else {
            uint32_t shift = i.flip[1];
            LANES at[k] = static_cast<uint32_t>((a[k] << shift) + b[k] + static_cast<uint32_t>(i.offset));
        }
        space = static_cast<Space>(i.variant & SPACE);
    }

    // Of an access to generic addresses those lanes that lead to a space.
    Access of(Space wanted) const {
        Access found = *this;
        found.space = wanted;
        found.lanes = lanes_where(lanes, [&](int lane) { return space_of(lane) == wanted; });
        if (wanted != GLOBAL) {
            for (uint64_t& address : found.at) address = low_of(address);
        }
        return found;
    }

    Space space_of(int lane) const {
        uint32_t window = high_of(at[lane]);
        if (window == SHARED_WINDOW) return rank_of(*w.block, at[lane]) == w.block->rank ? SHARED : CLUSTER;
        return window == LOCAL_WINDOW ? LOCAL : GLOBAL;
    }

    [[noreturn]] void stop(Ending ending, int lane) const { throw Stop{ending, lane, at[lane], space}; }

    uint8_t* place(int lane) {
        uint64_t address = at[lane], bytes = i.bytes;
        Block& block = *w.block;
        const Launch& launch = *block.launch;
        if (space == SHARED || space == CLUSTER) return place_in_shared(block, lane, address, bytes);
        if (address & (bytes - 1)) stop(MISALIGNED, lane);
        if (space == LOCAL) {
            if (address + bytes > launch.local_bytes) stop(OUT_OF_BOUNDS, lane);
            return w.local + static_cast<size_t>(lane) * launch.local_bytes + address;
        }
        const Array& array = block.runner->arrays[array_at(lane)];
        return array.memory ? array.memory + (address - array.address) : forgotten(lane);
    }
    uint8_t* forgotten(int lane) const {
        if (what != Ask::STORE) stop(READ_BACK, lane);
        return w.block->runner->forgotten;
    }
    // The array that a lane's address lies in; the site remembers it for the next one.
    uint32_t array_at(int lane) {
        Runner& runner = *w.block->runner;
        uint32_t& last = runner.last_array[static_cast<size_t>(i.site)];
        uint64_t address = at[lane], bytes = i.bytes;
        if (!lies_in(runner.arrays, last, address, bytes)) {
            uint32_t found = 0, count = static_cast<uint32_t>(runner.arrays.size());
            while (found < count && !lies_in(runner.arrays, found, address, bytes)) found++;
            if (found == count) stop(OUT_OF_BOUNDS, lane);
            last = found;
        }
        return last;
    }
    static bool lies_in(const std::vector<Array>& arrays, uint32_t number, uint64_t address, uint64_t bytes) {
        if (number >= arrays.size()) return false;
        const Array& array = arrays[number];
        return address >= array.address && address - array.address + bytes <= array.bytes;
    }

    // So many of the warp's first lanes are there, and these alone; 0: others.
    int first_lanes() const { return lanes & (lanes + 1) ? 0 : __builtin_popcount(lanes); }
    // How many bytes behind the one before each of them is, which is not less than nothing; -1: not always as many.
    int64_t step(int count) const {
        uint64_t by = count > 1 ? at[1] - at[0] : 0, off = 0;
        if (count == WARP) {
            for (int k = 1; k < WARP; k++) off |= (at[k] - at[k - 1]) ^ by;
        } else {
            for (int k = 2; k < count; k++) off |= (at[k] - at[k - 1]) ^ by;
        }
        return off ? -1 : std::max<int64_t>(static_cast<int64_t>(by), -1);
    }
    // Where the first lane's address is, where all of them are in one place's bounds; else null. `apart` gets how many
    // bytes apart they are there.
    uint8_t* place_of_steps(int count, int64_t by, int64_t* apart) {
        uint64_t bytes = i.bytes, step = static_cast<uint64_t>(by);
        if ((at[0] | step) & (bytes - 1)) return nullptr;
        auto is_within = [&](uint64_t from, uint64_t size) {
            return from < size && step <= size && from + step * static_cast<uint64_t>(count - 1) + bytes <= size;
        };
        *apart = by;
        Block& block = *w.block;
        if (space == SHARED) {
            uint64_t from = at[0] - block.shared_at;
            return is_within(from, block.launch->shared_bytes) ? block.shared.data() + from : nullptr;
        }
        if (space != GLOBAL) return nullptr;
        const Array& array = block.runner->arrays[array_at(0)];
        uint64_t from = at[0] - array.address;
        if (!is_within(from, array.bytes)) return nullptr;
        if (array.memory) return array.memory + from;
        *apart = 0;
        return forgotten(0);
    }
    void count_steps(int count, int64_t by) {
        auto lanes_there = static_cast<uint64_t>(count), bytes = uint64_t{i.bytes};
        Counts& counted = counts();
        counted.requests++;
        counted.lanes += lanes_there;
        counted.bytes += by ? lanes_there * bytes : bytes;
        if (space == GLOBAL) {
            counted.sectors += static_cast<uint64_t>(count_even_sectors(count, at[0], static_cast<uint64_t>(by)));
        } else if (by == i.bytes && i.bytes >= BANK_BYTES) {
            counted.wavefronts += static_cast<uint64_t>(count_even_wavefronts(count, i.bytes));
        } else {
            count_shared(counted);
        }
    }

    Counts& counts() {
        Runner& runner = *w.block->runner;
        return runner.counts_of(i.site, space == GLOBAL ? runner.last_array[static_cast<size_t>(i.site)]
                                                        : runner.column_of(counted_as()));
    }
    // Of an atomic the hardware counts wavefronts also where its word is another block's.
    Space counted_as() const { return space == CLUSTER && is_atomic(what) ? SHARED : space; }
    void count() {
        Counts& counted = counts();
        int bytes = i.bytes;
        counted.requests += space == LOCAL ? static_cast<uint64_t>(count_local_requests(bytes)) : 1;
        counted.lanes += static_cast<uint64_t>(__builtin_popcount(lanes));
        counted.bytes += static_cast<uint64_t>(count_bytes(lanes, at, bytes));
        if (counted_as() == SHARED) {
            count_shared(counted);
        } else if (space == LOCAL) {
            counted.sectors += static_cast<uint64_t>(count_local_sectors(lanes, at, bytes));
        } else if (space == GLOBAL) {
            bool bypasses = i.variant & BYPASSES && what == Ask::LOAD;
            int sectors = bypasses ? count_bypassing_sectors(lanes, at, into) : count_sectors(lanes, at, what);
            counted.sectors += static_cast<uint64_t>(sectors);
        }
    }
    void count_shared(Counts& counted) const {
        Wavefronts wavefronts = count_wavefronts(lanes, at, i.bytes, what);
        counted.wavefronts += static_cast<uint64_t>(wavefronts.all);
        counted.conflicts += static_cast<uint64_t>(wavefronts.conflicts);
    }

    // move(lane, where) for each lane, of BYTES bytes, 0: of as many as it is; where they are so many bytes apart, one check
    // of the ends is enough.
    template <int BYTES, class F> INLINE void each_place(F move) {
        Hazards* hazards = w.block->runner->hazards.get();
        int many = !hazards && !is_atomic(what) && !(i.variant & BYPASSES) ? first_lanes() : 0;
        int64_t by = many ? step(many) : -1, apart = 0;
        if (uint8_t* first = by < 0 ? nullptr : place_of_steps(many, by, &apart)) {
            if (apart == BYTES && many == WARP) {
                LANES move(k, first + k * BYTES);
            } else if (apart == 0 && what == Ask::LOAD && many == WARP) {
                LANES move(k, first);
            } else {
                for (int k = 0; k < many; k++) move(k, first + k * apart);
            }
            count_steps(many, by);
            return;
        }
        for (int lane : EachLane{lanes}) {
            uint8_t* where = place(lane);
            if (hazards) watch_access(w, i, lane, space, at[lane], {what, is_exchange}, where);
            move(lane, where);
        }
        if (hazards) hazards->settle();
        count();
    }
};

// f(access), of generic addresses once for each space that lanes lead to: each is a request of its own.
template <class F> INLINE void each_space(Warp& w, const Instruction& i, uint32_t lanes, F f) {
    Access access(w, i, lanes);
    if (!(i.variant & GENERIC)) return f(access);
    for (Space space : {GLOBAL, SHARED, LOCAL, CLUSTER}) {
        Access part = access.of(space);
        if (part.lanes) f(part);
    }
}

// Words between rows d, d + 1, ... and memory.
template <bool LOADS, int WORDS> INLINE void move_words(Access& access, Warp& w, unsigned d) {
    uint32_t* rows[WORDS];
    for (int n = 0; n < WORDS; n++) rows[n] = w.row(d + static_cast<unsigned>(n));
    access.each_place<4 * WORDS>([&](int lane, uint8_t* at) INLINE_LAMBDA {
        uint32_t words[WORDS];
        if constexpr (LOADS) memcpy(words, at, sizeof words);
        for (int n = 0; n < WORDS; n++) {
            if constexpr (LOADS) rows[n][lane] = words[n];
            else words[n] = rows[n][lane];
        }
        if constexpr (!LOADS) memcpy(at, words, sizeof words);
    });
}
// move(lane, where) where they are less than a word.
template <bool LOADS, class F> INLINE void move_numbers(Warp& w, const Instruction& i, uint32_t lanes, F move) {
    each_space(w, i, lanes, [&](Access& access) {
        if (LOADS) access.what = Ask::LOAD;
        switch (i.bytes) {
            case 4: return move_words<LOADS, 1>(access, w, i.d);
            case 8: return move_words<LOADS, 2>(access, w, i.d);
            case 16: return move_words<LOADS, 4>(access, w, i.d);
            default: access.each_place<0>(move);
        }
    });
}

uint32_t widened(uint32_t x, int bytes, bool is_signed) {
    if (bytes == 1) return is_signed ? static_cast<uint32_t>(static_cast<int8_t>(x)) : x & 0xff;
    return is_signed ? static_cast<uint32_t>(static_cast<int16_t>(x)) : x & 0xffff;
}

void load(Warp& w, const Instruction& i, uint32_t lanes) {
    uint32_t* d = w.row(i.d);
    move_numbers<true>(w, i, lanes, [&](int lane, const uint8_t* from) {
        uint32_t x = 0;
        memcpy(&x, from, i.bytes);
        d[lane] = widened(x, i.bytes, i.variant & SIGNED);
    });
}

void store(Warp& w, const Instruction& i, uint32_t lanes) {
    const uint32_t* d = w.row(i.d);
    move_numbers<false>(w, i, lanes, [&](int lane, uint8_t* to) { memcpy(to, &d[lane], i.bytes); });
}

// From global memory (a and b) to shared memory (d, c and flip[2] make its address) without a register in between.
// Lanes whose predicate s is false store zeros. Variant bit 6: the lowest bits of an address say how many bytes at the
// end are zeros instead; 7: the first cache is left out; 8: the row flip[0] says how many bytes are read before zeros.
void copy_to_shared(Warp& w, const Instruction& i, uint32_t lanes) {
    Access access(w, i, lanes);
    const uint32_t *d = w.row(i.d), *c = w.row(i.c);
    uint32_t reads = w.predicate_of(i.s, i.s_flip);
    const uint32_t* told = i.variant & TOLD ? w.row(i.flip[0]) : nullptr;
    for (int k = 0; told && k < WARP; k++) {
        if (!told[k]) reads &= ~(1u << k);
    }
    uint64_t into[WARP];
    LANES into[k] = static_cast<uint32_t>(d[k] + c[k] + i.flip[2]);
    auto to = [&](int lane) {
        uint8_t* place = place_in_shared(*w.block, lane, into[lane], i.bytes);
        if (w.block->runner->hazards) watch_access(w, i, lane, SHARED, into[lane], {Ask::STORE}, place);
        return place;
    };
    for (int lane : EachLane{lanes & ~reads}) memset(to(lane), 0, i.bytes);
    access.lanes &= reads;
    if (!access.lanes) return;
    access.what = Ask::LOAD;
    access.into = into;
    uint64_t lacking[WARP] = {};
    if (i.variant & FILLS) {
        LANES lacking[k] = access.at[k] & (i.bytes - 1u);
        LANES access.at[k] -= lacking[k];
    }
    for (int k = 0; told && k < WARP; k++) lacking[k] = i.bytes - std::min<uint64_t>(told[k], i.bytes);
    access.each_place<0>([&](int lane, const uint8_t* from) {
        uint8_t* place = to(lane);
        memcpy(place, from, i.bytes - lacking[lane]);
        memset(place + i.bytes - lacking[lane], 0, lacking[lane]);
    });
}

// ---- atomics

enum Change : uint32_t { ADD, MIN, MAX, INC, DEC, AND, OR, XOR, EXCH, CAS, COUNT, CAS_HELD };
enum Number : uint32_t { UNSIGNED_NUMBER, SIGNED_NUMBER, FLOAT_NUMBER, HALF_NUMBER, BFLOAT_NUMBER };

template <class T> T changed(Change change, T old, T x) {
    switch (change) {
        case ADD: return old + x;
        case MIN: return std::min(old, x);
        case MAX: return std::max(old, x);
        default: return x;
    }
}
template <class T> T changed_bits(Change change, T old, T x, T other) {
    switch (change) {
        case INC: return old >= x ? 0 : old + 1;
        case DEC: return old == 0 || old > x ? x : old - 1;
        case AND: return old & x;
        case OR: return old | x;
        case XOR: return old ^ x;
        case CAS:
        case CAS_HELD: return old == x ? other : old;
        case COUNT: return old + 1;
        default: return changed(change, old, x);
    }
}
uint32_t add_halves(uint32_t old, uint32_t x, bool is_bfloat) {
    uint32_t made = 0;
    for (int part = 0; part < 2; part++) {
        auto a = static_cast<uint16_t>(old >> 16 * part), b = static_cast<uint16_t>(x >> 16 * part);
        uint32_t sum = to_half(add_to_odd(from_half(a, is_bfloat), from_half(b, is_bfloat)), is_bfloat);
        made |= sum << 16 * part;
    }
    return made;
}

uint64_t change_word(uint32_t how, int bytes, uint64_t old, uint64_t x, uint64_t other) {
    auto change = static_cast<Change>(how & 15);
    auto number = static_cast<Number>(how >> 4 & 7);
    auto old4 = low_of(old), x4 = low_of(x);
    if (number == HALF_NUMBER || number == BFLOAT_NUMBER) return add_halves(old4, x4, number == BFLOAT_NUMBER);
    if (number == FLOAT_NUMBER) {
        if (bytes == 8) return bits_as<uint64_t>(changed(change, bits_as<double>(old), bits_as<double>(x)));
        return word(changed(change, real(old4), real(x4)));
    }
    if (number == SIGNED_NUMBER && (change == MIN || change == MAX)) {
        if (bytes == 8) return static_cast<uint64_t>(changed(change, static_cast<int64_t>(old), static_cast<int64_t>(x)));
        return static_cast<uint32_t>(changed(change, static_cast<int32_t>(old4), static_cast<int32_t>(x4)));
    }
    if (bytes == 8) return changed_bits(change, old, x, other);
    return changed_bits(change, old4, x4, low_of(other));
}

// Rows: d gets what was there, c is what is given, and the row flip[0], for a comparison, what takes its place.
// Predicate p tells whether a comparison held.
void change_memory(Warp& w, const Instruction& i, uint32_t lanes) {
    bool is_wide = i.bytes == 8;
    const uint32_t *c = w.row(i.c), *c2 = w.row(i.c + 1u);
    const uint32_t *x = w.row(i.flip[0]), *x2 = w.row(i.flip[0] + 1u);  // of a comparison: the new word
    uint32_t *d = w.row(i.d), *d2 = w.row(i.d + 1u);
    uint32_t held = 0, how = i.variant >> 8;
    auto change = [&](int lane, uint8_t* at) {
        uint64_t old = 0, given = is_wide ? pair(c[lane], c2[lane]) : c[lane];
        uint64_t other = is_wide ? pair(x[lane], x2[lane]) : x[lane];
        memcpy(&old, at, i.bytes);
        uint64_t made = change_word(how, i.bytes, old, given, other);
        memcpy(at, &made, i.bytes);
        held |= (old == given ? 1u : 0u) << lane;
        d[lane] = (how & 15) == CAS_HELD ? (old == given ? 1 : 0) : low_of(old);
        if (is_wide) d2[lane] = (how & 15) == CAS_HELD ? 0 : high_of(old);
    };
    each_space(w, i, lanes, [&](Access& access) {
        uint32_t kind = how & 15;
        access.is_exchange = kind == EXCH;
        access.what = kind == CAS || kind == CAS_HELD ? Ask::COMPARE : kind == COUNT ? Ask::COUNT : Ask::CHANGE;
        access.each_place<0>(change);
    });
    set_predicate(w, i.p, lanes, held);
}

// Constants whose place is computed: variant has the bank from bit 8 on, a the place. No request of memory.
void load_constant(Warp& w, const Instruction& i, uint32_t lanes) {
    const uint32_t* a = w.row(i.a);
    const Bank& bank = w.block->runner->banks[i.variant >> 8 & 7];
    bool is_signed = i.variant & SIGNED;
    for (int lane : EachLane{lanes}) {
        uint64_t at = static_cast<uint32_t>(a[lane] + static_cast<uint32_t>(i.offset));
        if (at + i.bytes > bank.size) throw Stop{CONSTANT_BOUNDS, lane, at, GLOBAL};
        uint32_t words[4] = {};
        memcpy(words, bank.bytes + at, i.bytes);
        if (i.bytes < 4) words[0] = widened(words[0], i.bytes, is_signed);
        for (unsigned n = 0; n < (i.bytes + 3u) / 4u; n++) w.row(i.d + n)[lane] = words[n];
    }
}

}  // namespace

void addresses_of(Warp& w, const Instruction& i, uint64_t* found) {
    Access access(w, i, ALL);
    std::copy(std::begin(access.at), std::end(access.at), found);
}

const Operation MEMORY_OPERATIONS[] = {
    {"load", load},
    {"store", store},
    {"copy to shared", copy_to_shared},
    {"change memory", change_memory},
    {"load constant", load_constant},
    {nullptr, nullptr},
};

}  // namespace machine
