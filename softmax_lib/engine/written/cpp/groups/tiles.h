// Groups of some lanes of a warp, and tiles: the threads of a block in groups of a power of two.
//
// Up to a warp's size their lanes exchange values by shuffles. The threads of a larger tile meet
// (meetings.h), after each of its warps has, as on a GPU; what a warp gives then is in all threads.
#pragma once
#include "wide_groups.h"

namespace cooperative_groups {

// ---- some lanes of a warp, whichever they are

class coalesced_group : public thread_group {
public:
    __forceinline__ void sync(EMULATOR_PLACE) const { __syncwarp(lanes_.mask, file, line); }
    __forceinline__ unsigned num_threads() const { return (unsigned)__builtin_popcount(lanes_.mask); }
    __forceinline__ unsigned size() const { return num_threads(); }
    __forceinline__ unsigned thread_rank() const { return emulator::rank_of_lane(lanes_.mask, emulator::lane_of_warp()); }
    __forceinline__ unsigned meta_group_rank() const { return lanes_.meta_rank; }
    __forceinline__ unsigned meta_group_size() const { return lanes_.meta_size; }

    // Sources count by rank; one outside of the group is replaced by the caller's own value.
    template <class T>
    __forceinline__ T shfl(const T& value, int rank, EMULATOR_PLACE) const {
        return from_lane(value, emulator::lane_of_rank(lanes_.mask, (unsigned)rank), {file, line});
    }
    template <class T>
    __forceinline__ T shfl_up(const T& value, int delta, EMULATOR_PLACE) const {
        unsigned rank = thread_rank(), distance = (unsigned)delta;
        return from_rank(value, rank < distance ? rank : rank - distance, {file, line});
    }
    template <class T>
    __forceinline__ T shfl_down(const T& value, unsigned delta, EMULATOR_PLACE) const {
        unsigned rank = thread_rank();
        return from_rank(value, delta >= num_threads() - rank ? rank : rank + delta, {file, line});
    }

    __forceinline__ int any(int predicate, EMULATOR_PLACE) const { return __any_sync(lanes_.mask, predicate, file, line); }
    __forceinline__ int all(int predicate, EMULATOR_PLACE) const { return __all_sync(lanes_.mask, predicate, file, line); }
    // These give a bit for each rank.
    __forceinline__ unsigned ballot(int predicate, EMULATOR_PLACE) const {
        return emulator::bits_by_rank(lanes_.mask, __ballot_sync(lanes_.mask, predicate, file, line));
    }
    template <class T>
    __forceinline__ unsigned match_any(T value, EMULATOR_PLACE) const {
        return emulator::bits_by_rank(lanes_.mask, __match_any_sync(lanes_.mask, value, file, line));
    }
    template <class T>
    __forceinline__ unsigned match_all(T value, int& predicate, EMULATOR_PLACE) const {
        return emulator::bits_by_rank(lanes_.mask, __match_all_sync(lanes_.mask, value, &predicate, file, line));
    }

    __forceinline__ unsigned get_mask() const { return lanes_.mask; }

private:
    constexpr explicit __forceinline__ coalesced_group(Lanes lanes) : thread_group(lanes) {}

    template <class T>
    __forceinline__ T from_lane(const T& value, unsigned lane, emulator::Place place) const {
        return emulator::shuffle_any(emulator::Operation::shuffle, lanes_.mask, value, lane, EMULATOR_WARP, place);
    }
    template <class T>
    __forceinline__ T from_rank(const T& value, unsigned rank, emulator::Place place) const {
        return from_lane(value, emulator::lane_of_rank(lanes_.mask, rank), place);
    }

    static __forceinline__ coalesced_group of(unsigned mask, unsigned meta_rank = 0, unsigned meta_size = 1,
                                              bool is_tile = false) {
        return coalesced_group(Lanes{mask, meta_rank, meta_size, is_tile});
    }

    friend coalesced_group coalesced_threads(const char*, int);
    friend coalesced_group tiled_partition(const coalesced_group& parent, unsigned size, const char*, int);
    friend thread_group tiled_partition(const thread_group& parent, unsigned size, const char*, int);
    friend class partitions;
    template <unsigned Size, bool is_in_one_warp>
    friend class lanes_of_tile;
};

// The lanes that come to this line before they have to wait for others: on a GPU it is up to the
// hardware which of them are together, and those that took the same branch mostly are.
__forceinline__ coalesced_group coalesced_threads(EMULATOR_PLACE) {
    return coalesced_group::of(emulator::gather_lanes({file, line}));
}

// ---- tiles

template <unsigned Size, bool is_in_one_warp = (Size <= EMULATOR_WARP)>
class lanes_of_tile {
public:
    static __forceinline__ void sync(EMULATOR_PLACE) { __syncwarp(get_mask(), file, line); }

    template <class T>
    static __forceinline__ T shfl(const T& value, int rank, EMULATOR_PLACE) {
        return exchange(emulator::Operation::shuffle, value, (unsigned)rank, {file, line});
    }
    template <class T>
    static __forceinline__ T shfl_up(const T& value, unsigned delta, EMULATOR_PLACE) {
        return exchange(emulator::Operation::shuffle_up, value, delta, {file, line});
    }
    template <class T>
    static __forceinline__ T shfl_down(const T& value, unsigned delta, EMULATOR_PLACE) {
        return exchange(emulator::Operation::shuffle_down, value, delta, {file, line});
    }
    template <class T>
    static __forceinline__ T shfl_xor(const T& value, unsigned mask, EMULATOR_PLACE) {
        return exchange(emulator::Operation::shuffle_xor, value, mask, {file, line});
    }

    static __forceinline__ int any(int predicate, EMULATOR_PLACE) { return __any_sync(get_mask(), predicate, file, line); }
    static __forceinline__ int all(int predicate, EMULATOR_PLACE) { return __all_sync(get_mask(), predicate, file, line); }
    // These give a bit for each rank.
    static __forceinline__ unsigned ballot(int predicate, EMULATOR_PLACE) {
        return __ballot_sync(get_mask(), predicate, file, line) >> first();
    }
    template <class T>
    static __forceinline__ unsigned match_any(T value, EMULATOR_PLACE) {
        return __match_any_sync(get_mask(), value, file, line) >> first();
    }
    template <class T>
    static __forceinline__ unsigned match_all(T value, int& predicate, EMULATOR_PLACE) {
        return __match_all_sync(get_mask(), value, &predicate, file, line) >> first();
    }

    static __forceinline__ unsigned get_mask() { return ~0u >> (32 - Size) << first(); }
    // To be passed where any group is taken.
    __forceinline__ operator thread_group() const { return coalesced_group::of(get_mask(), 0, 1, true); }

private:
    static __forceinline__ unsigned first() { return emulator::lane_of_warp() & ~(Size - 1); }

    template <class T>
    static __forceinline__ T exchange(emulator::Operation operation, const T& value, unsigned argument,
                                      emulator::Place place) {
        return emulator::shuffle_any(operation, get_mask(), value, argument, Size, place);
    }
};

template <unsigned Size>
class lanes_of_tile<Size, false> {
    static_assert(Size / EMULATOR_WARP <= emulator::MOST_SEATS, "a tile has at most 32 warps");

public:
    static constexpr unsigned warps = Size / EMULATOR_WARP;

    static __forceinline__ void sync(EMULATOR_PLACE) {
        uint64_t all[emulator::MOST_SEATS];
        meet(emulator::NO_SEAT, 0, all, {file, line});
    }
    template <class T>
    static __forceinline__ T shfl(const T& value, unsigned rank, EMULATOR_PLACE) {
        uint64_t all[emulator::MOST_SEATS];
        bool is_source = emulator::thread_of_block() % Size == rank % Size;
        meet(is_source ? 0 : emulator::NO_SEAT, bits_of(value), all, {file, line});
        return emulator::from_bits<T>(all[0]);
    }
    static __forceinline__ int any(int predicate, EMULATOR_PLACE) {
        uint64_t all[emulator::MOST_SEATS];
        give_warps((uint64_t)__any_sync(emulator::ALL_LANES, predicate, file, line), true, all, {file, line});
        int found = 0;
        for (unsigned warp = 0; warp < warps; warp++) found |= (int)all[warp];
        return found;
    }
    static __forceinline__ int all(int predicate, EMULATOR_PLACE) {
        uint64_t all[emulator::MOST_SEATS];
        give_warps((uint64_t)__all_sync(emulator::ALL_LANES, predicate, file, line), true, all, {file, line});
        int found = 1;
        for (unsigned warp = 0; warp < warps; warp++) found &= (int)all[warp];
        return found;
    }

    // What each warp's speaker gives, by the warp's rank in the tile: `all` has room for MOST_SEATS.
    template <class T>
    static __forceinline__ void give_warps(const T& value, bool speaks, uint64_t* all, emulator::Place place) {
        meet(speaks ? (int)warp_rank() : emulator::NO_SEAT, bits_of(value), all, place);
    }
    static __forceinline__ unsigned warp_rank() { return emulator::thread_of_block() % Size / EMULATOR_WARP; }

private:
    template <class T>
    static __forceinline__ uint64_t bits_of(const T& value) {
        static_assert(sizeof(T) <= 8, "a tile of several warps exchanges values of at most 8 bytes");
        return emulator::to_bits(value);
    }
    static __forceinline__ void meet(int seat, uint64_t given, uint64_t* all, emulator::Place place) {
        __syncwarp(emulator::ALL_LANES, place.file, place.line);
        unsigned number = Size << 16 | emulator::thread_of_block() / Size;
        emulator::meet(emulator::MeetingKind::tile, number, Size, place, seat, given, all);
    }
};

template <unsigned Size>
class tile_of_threads : public lanes_of_tile<Size> {
    static_assert(Size && !(Size & (Size - 1)) && Size <= 1024, "a tile has 1, 2, 4, 8, ... or 1024 threads");

public:
    static __forceinline__ unsigned thread_rank() { return emulator::thread_of_block() & (Size - 1); }
    static constexpr __forceinline__ unsigned num_threads() { return Size; }
    static constexpr __forceinline__ unsigned size() { return Size; }
};

// What it is a part of is in the type, or forgotten where that is void.
template <unsigned Size, class Parent = void>
class thread_block_tile : public tile_of_threads<Size> {
public:
    static __forceinline__ unsigned meta_group_rank() { return Parent::thread_rank() / Size; }
    static __forceinline__ unsigned meta_group_size() { return (Parent::num_threads() + Size - 1) / Size; }

private:
    constexpr __forceinline__ thread_block_tile() = default;
    friend class partitions;
};

template <unsigned Size>
class thread_block_tile<Size, void> : public tile_of_threads<Size> {
public:
    template <class Parent>
    __forceinline__ thread_block_tile(const thread_block_tile<Size, Parent>& tile)
        : meta_rank_(tile.meta_group_rank()), meta_size_(tile.meta_group_size()) {}

    __forceinline__ unsigned meta_group_rank() const { return meta_rank_; }
    __forceinline__ unsigned meta_group_size() const { return meta_size_; }

private:
    unsigned meta_rank_, meta_size_;
};

}  // namespace cooperative_groups
