// A group of some lanes of a warp, whichever they are.
#pragma once
#include "wide_groups.h"

namespace cooperative_groups {

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

}  // namespace cooperative_groups
