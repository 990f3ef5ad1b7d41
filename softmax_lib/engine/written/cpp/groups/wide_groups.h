// Groups of a block's threads and of more: thread_block, cluster_group, grid_group, and thread_group,
// which may be any of them or some lanes of a warp.
#pragma once
#include "../atomics.h"

// ---- lanes of a warp as the members of a group: their ranks, and values that go from one to another

namespace emulator {

// The lane that has the `rank`-th of the bits of `mask`; the last lane, as the hardware takes a wrong
// one, when there are not as many.
EMULATOR_INLINE unsigned lane_of_rank(unsigned mask, unsigned rank) {
    for (unsigned lane = 0; lane < 32; lane++) {
        if ((mask >> lane & 1) && rank-- == 0) return lane;
    }
    return 31;
}

EMULATOR_INLINE unsigned rank_of_lane(unsigned mask, unsigned lane) {
    return (unsigned)__builtin_popcount(mask & ((1u << lane) - 1));
}

// The bits of `lanes` that stand where `mask` has ones, one beside the other: a bit for each rank.
EMULATOR_INLINE unsigned bits_by_rank(unsigned mask, unsigned lanes) {
    unsigned packed = 0, rank = 0;
    for (unsigned lane = 0; lane < 32; lane++) {
        if (mask >> lane & 1) packed |= (lanes >> lane & 1) << rank++;
    }
    return packed;
}

// Groups also exchange structures, word by word, where a shuffle takes a number.
template <class T>
EMULATOR_INLINE T shuffle_any(Operation operation, unsigned mask, const T& value, unsigned argument, int width,
                              Place place) {
    if constexpr (std::is_arithmetic_v<T> || is_16_bit_float<T>) {
        return shuffle(operation, mask, value, argument, width, place);
    } else {
        static_assert(sizeof(T) <= 32, "a group exchanges values of at most 32 bytes");
        uint32_t words[(sizeof(T) + 3) / 4] = {};
        T received = value;
        __builtin_memcpy(words, &value, sizeof(T));
        for (uint32_t& word : words) word = shuffle(operation, mask, word, argument, width, place);
        __builtin_memcpy(&received, words, sizeof(T));
        return received;
    }
}

}  // namespace emulator

// ---- a group of any type

namespace cooperative_groups {

class thread_group {
public:
    __forceinline__ void sync(EMULATOR_PLACE) const {
        switch (kind_) {
            case Kind::grid: sync_blocks(emulator::Operation::grid_barrier, {file, line}); break;
            case Kind::cluster: sync_blocks(emulator::Operation::cluster_barrier, {file, line}); break;
            case Kind::block: emulator_barrier(emulator::Operation::barrier, 0, {file, line}); break;
            case Kind::lanes: __syncwarp(lanes_.mask, file, line); break;
        }
    }
    __forceinline__ unsigned long long num_threads() const {
        unsigned long long block = emulator::block_threads();
        switch (kind_) {
            case Kind::grid: return block * volume_of(emulator_grid_size);
            case Kind::cluster: return block * volume_of(emulator_cluster_size);
            case Kind::block: return block;
            default: return (unsigned)__builtin_popcount(lanes_.mask);
        }
    }
    __forceinline__ unsigned long long thread_rank() const {
        unsigned long long block = emulator::block_threads(), thread = emulator::thread_of_block();
        switch (kind_) {
            case Kind::grid: return rank_of_block() * block + thread;
            case Kind::cluster: return __clusterRelativeBlockRank() * block + thread;
            case Kind::block: return thread;
            default: return emulator::rank_of_lane(lanes_.mask, emulator::lane_of_warp());
        }
    }
    __forceinline__ unsigned long long size() const { return num_threads(); }

    thread_group(const thread_group&) = default;

protected:
    thread_group& operator=(const thread_group&) = default;  // nobody else's, as in CUDA

    enum class Kind : uint8_t { grid, cluster, block, lanes };

    // Lanes of one warp, which are one of several such groups. Those of a tile lie side by side.
    struct Lanes {
        unsigned mask, meta_rank, meta_size;
        bool is_tile;
    };

    constexpr explicit __forceinline__ thread_group(Kind kind) : kind_(kind), lanes_{0, 0, 1, false} {}
    constexpr explicit __forceinline__ thread_group(Lanes lanes) : kind_(Kind::lanes), lanes_(lanes) {}

    static __forceinline__ void sync_blocks(emulator::Operation operation, emulator::Place place) {
        emulator_wait(operation, emulator_arrive(operation, place, false), place);
    }
    static __forceinline__ unsigned long long volume_of(unsigned (*size)(int)) {
        return (unsigned long long)size(0) * size(1) * size(2);
    }
    static __forceinline__ unsigned long long rank_of(dim3 index, dim3 size) {
        return index.x + (unsigned long long)size.x * (index.y + (unsigned long long)size.y * index.z);
    }
    static __forceinline__ unsigned long long rank_of_block() {
        return rank_of(emulator::each_axis(emulator_block_index), emulator::each_axis(emulator_grid_size));
    }
    static __forceinline__ dim3 block_size() { return emulator::each_axis(emulator_block_size); }
    static __forceinline__ dim3 scaled(dim3 blocks, dim3 rest) {
        dim3 size = block_size();
        return dim3(blocks.x * size.x + rest.x, blocks.y * size.y + rest.y, blocks.z * size.z + rest.z);
    }
    static __forceinline__ dim3 index_in_block() { return emulator::each_axis(emulator_thread_index); }

    Kind kind_;
    Lanes lanes_;

    friend thread_group tiled_partition(const thread_group& parent, unsigned size, const char*, int);
};

// ---- the block

// On a GPU since sm_80 tiles of several warps have memory of their own, and here too.
template <unsigned MostThreads = 1024>
struct alignas(8) block_tile_memory {};

class thread_block : public thread_group {
public:
    struct arrival_token {
        uint64_t phase;
    };

    static __forceinline__ void sync(EMULATOR_PLACE) {
        emulator_barrier(emulator::Operation::barrier, 0, {file, line});
    }
    static __forceinline__ arrival_token barrier_arrive() {
        if (emulator::thread_of_block() == 0) emulator_count_barrier();
        return {emulator::arrive_at_block(emulator::block_threads())};
    }
    static __forceinline__ void barrier_wait(arrival_token&& token, EMULATOR_PLACE) {
        while (emulator::phase_of_block() == token.phase) emulator_poll({file, line});
    }
    static __forceinline__ unsigned thread_rank() { return emulator::thread_of_block(); }
    static __forceinline__ unsigned num_threads() { return emulator::block_threads(); }
    static __forceinline__ unsigned size() { return num_threads(); }
    static __forceinline__ dim3 dim_threads() { return block_size(); }
    static __forceinline__ dim3 group_dim() { return block_size(); }
    static __forceinline__ dim3 thread_index() { return index_in_block(); }
    static __forceinline__ dim3 group_index() { return emulator::each_axis(emulator_block_index); }

private:
    constexpr __forceinline__ thread_block() : thread_group(Kind::block) {}

    friend __forceinline__ thread_block this_thread_block() { return thread_block(); }
    template <unsigned MostThreads>
    friend thread_block this_thread_block(block_tile_memory<MostThreads>&);
};

__forceinline__ thread_block this_thread_block();
template <unsigned MostThreads>
__forceinline__ thread_block this_thread_block(block_tile_memory<MostThreads>&) {
    return thread_block();
}

// ---- the cluster

class cluster_group : public thread_group {
public:
    struct arrival_token {};

    static __forceinline__ void sync(EMULATOR_PLACE) {
        sync_blocks(emulator::Operation::cluster_barrier, {file, line});
    }
    static __forceinline__ arrival_token barrier_arrive(EMULATOR_PLACE) {
        emulator::arrive_at_cluster({file, line});
        return {};
    }
    static __forceinline__ void barrier_wait(EMULATOR_PLACE) { emulator::wait_for_cluster({file, line}); }
    static __forceinline__ void barrier_wait(arrival_token&&, EMULATOR_PLACE) {
        emulator::wait_for_cluster({file, line});
    }
    static __forceinline__ unsigned query_shared_rank(const void* address) {
        return __cluster_query_shared_rank(address);
    }
    template <class T>
    static __forceinline__ T* map_shared_rank(T* address, int rank, EMULATOR_PLACE) {
        return static_cast<T*>(__cluster_map_shared_rank(address, (unsigned)rank, file, line));
    }
    static __forceinline__ dim3 block_index() { return __clusterRelativeBlockIdx(); }
    static __forceinline__ unsigned block_rank() { return __clusterRelativeBlockRank(); }
    static __forceinline__ dim3 thread_index() { return scaled(block_index(), index_in_block()); }
    static __forceinline__ unsigned thread_rank() {
        return block_rank() * emulator::block_threads() + emulator::thread_of_block();
    }
    static __forceinline__ dim3 dim_blocks() { return emulator::cluster_size(); }
    static __forceinline__ unsigned num_blocks() { return __clusterSizeInBlocks(); }
    static __forceinline__ dim3 dim_threads() { return scaled(dim_blocks(), dim3(0, 0, 0)); }
    static __forceinline__ unsigned num_threads() { return num_blocks() * emulator::block_threads(); }
    static __forceinline__ unsigned size() { return num_threads(); }

private:
    constexpr __forceinline__ cluster_group() : thread_group(Kind::cluster) {}

    friend __forceinline__ cluster_group this_cluster() { return cluster_group(); }
};

__forceinline__ cluster_group this_cluster();

// ---- the grid

class grid_group : public thread_group {
public:
    struct arrival_token {
        uint64_t arrival;
    };

    // Whether its blocks can meet. An H200 says so of a launch that is not cooperative, too.
    static __forceinline__ bool is_valid() { return emulator_is_cooperative(); }
    static __forceinline__ void sync(EMULATOR_PLACE) {
        sync_blocks(emulator::Operation::grid_barrier, {file, line});
    }
    static __forceinline__ arrival_token barrier_arrive(EMULATOR_PLACE) {
        return {emulator_arrive(emulator::Operation::grid_barrier, {file, line})};
    }
    static __forceinline__ void barrier_wait(arrival_token&& token, EMULATOR_PLACE) {
        emulator_wait(emulator::Operation::grid_barrier, token.arrival, {file, line});
    }
    static __forceinline__ unsigned long long thread_rank() {
        return rank_of_block() * emulator::block_threads() + emulator::thread_of_block();
    }
    static __forceinline__ unsigned long long num_threads() { return num_blocks() * emulator::block_threads(); }
    static __forceinline__ unsigned long long size() { return num_threads(); }
    static __forceinline__ dim3 group_dim() { return dim_blocks(); }
    static __forceinline__ dim3 dim_threads() { return scaled(dim_blocks(), dim3(0, 0, 0)); }
    static __forceinline__ dim3 thread_index() { return scaled(block_index(), index_in_block()); }
    static __forceinline__ dim3 dim_blocks() { return emulator::each_axis(emulator_grid_size); }
    static __forceinline__ unsigned long long num_blocks() { return volume_of(emulator_grid_size); }
    static __forceinline__ dim3 block_index() { return thread_block::group_index(); }
    static __forceinline__ unsigned long long block_rank() { return rank_of_block(); }
    static __forceinline__ dim3 dim_clusters() { return __clusterGridDimInClusters(); }
    static __forceinline__ unsigned long long num_clusters() {
        dim3 clusters = dim_clusters();
        return (unsigned long long)clusters.x * clusters.y * clusters.z;
    }
    static __forceinline__ dim3 cluster_index() { return __clusterIdx(); }
    static __forceinline__ unsigned long long cluster_rank() { return rank_of(cluster_index(), dim_clusters()); }

private:
    constexpr __forceinline__ grid_group() : thread_group(Kind::grid) {}

    friend __forceinline__ grid_group this_grid() { return grid_group(); }
};

__forceinline__ grid_group this_grid();

}  // namespace cooperative_groups
