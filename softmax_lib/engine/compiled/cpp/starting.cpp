// Blocks and clusters before their first instruction.
#include <algorithm>
#include <cstring>

#include "run.h"

namespace machine {

namespace {

void start_warp(Block& block, Warp& w, int index, uint32_t threads) {
    const Launch& launch = *block.launch;
    uint32_t first = static_cast<uint32_t>(index) * WARP, many = std::min<uint32_t>(WARP, threads - first);
    w.block = &block;
    w.index = index;
    w.file = block.rows.data() + static_cast<size_t>(index) * launch.rows;
    w.local = block.local.data() + static_cast<size_t>(index) * WARP * launch.local_bytes;
    memset(w.file, 0, launch.cleared * sizeof(Row));
    w.predicate = block.predicates.data() + static_cast<size_t>(index) * launch.predicates;
    std::fill_n(w.predicate, launch.predicates, 0u);
    w.predicate[7] = w.predicate[15] = ALL;
    w.live = w.active = many == WARP ? ALL : (1u << many) - 1;
    w.at = 0;
    w.ready.clear();
    w.waiting = w.at_barrier = 0;
    w.whole_goes_on = -1;
    w.cluster_phase = 0;
    w.meetings.clear();
    std::fill(std::begin(w.meeting), std::end(w.meeting), -1);
    memset(w.members, 0, sizeof w.members);
}

void start_block(Block& block, const uint32_t* index) {
    const Launch& launch = *block.launch;
    const uint32_t* grid = launch.grid;
    std::copy(index, index + 3, block.index);
    block.number = (static_cast<uint64_t>(index[2]) * grid[1] + index[1]) * grid[0] + index[0];
    auto threads = static_cast<uint32_t>(total(launch.block));
    std::fill(block.shared.begin(), block.shared.end(), uint8_t{0});
    std::fill(std::begin(block.barriers), std::end(block.barriers), BlockBarrier{});
    block.live = static_cast<int>(threads);
    for (size_t n = 0; n < block.warps.size(); n++) start_warp(block, block.warps[n], static_cast<int>(n), threads);
}

// The place of a number on axes, the first of which it runs along first.
void place_on(const uint32_t* axes, uint64_t number, uint32_t* found) {
    for (int n = 0; n < 3; n++) {
        found[n] = static_cast<uint32_t>(number % axes[n]);
        number /= axes[n];
    }
}

void start_cluster(Runner& runner, Cluster& cluster, uint64_t number) {
    const Launch& launch = runner.launch;
    uint32_t clusters[3], first[3];
    for (int n = 0; n < 3; n++) clusters[n] = launch.grid[n] / launch.cluster[n];
    place_on(clusters, number, first);
    cluster.live = static_cast<int>(cluster.blocks.size() * total(launch.block));
    cluster.arrived = cluster.ended = 0;
    cluster.phase = 0;
    cluster.turn = 0;
    for (size_t rank = 0; rank < cluster.blocks.size(); rank++) {
        uint32_t index[3];
        place_on(launch.cluster, rank, index);
        for (int n = 0; n < 3; n++) index[n] += first[n] * launch.cluster[n];
        start_block(*cluster.blocks[rank], index);
        watch_block(*cluster.blocks[rank], number);
    }
}

std::unique_ptr<Block> make_block(Runner& runner) {
    auto block = std::make_unique<Block>();
    const Launch& launch = runner.launch;
    size_t warps = (total(launch.block) + WARP - 1) / WARP;
    block->launch = &runner.launch;
    block->runner = &runner;
    block->slot = runner.slots++;
    block->shared.resize(launch.shared_bytes);
    block->warps.resize(warps);
    block->rows.resize(warps * launch.rows);
    block->predicates.resize(warps * launch.predicates);
    block->local.resize(warps * WARP * launch.local_bytes);
    for (size_t warp = 0; warp < warps; warp++) {
        for (const Fixed& fixed : runner.fixed) {
            uint32_t value = fixed.value;
            if (fixed.bank >= 0) {
                const Bank& bank = runner.banks[static_cast<size_t>(fixed.bank)];
                value = 0;
                if (uint64_t{fixed.value} + 4 <= bank.size) memcpy(&value, bank.bytes + fixed.value, 4);
            }
            Row& row = block->rows[warp * launch.rows + fixed.row];
            std::fill(std::begin(row.lane), std::end(row.lane), value);
        }
    }
    return block;
}

std::unique_ptr<Cluster> make_cluster(Runner& runner) {
    auto cluster = std::make_unique<Cluster>();
    const Launch& launch = runner.launch;
    for (uint32_t rank = 0; rank < total(launch.cluster); rank++) {
        std::unique_ptr<Block> block = make_block(runner);
        block->cluster = cluster.get();
        block->rank = rank;
        block->shared_at = launch.shared_base + (launch.first_rank ? 0 : rank << RANK_SHIFT);
        cluster->blocks.push_back(std::move(block));
    }
    return cluster;
}

}  // namespace

std::unique_ptr<Cluster> start_next(Runner& runner, std::unique_ptr<Cluster> spare) {
    if (!spare) spare = make_cluster(runner);
    start_cluster(runner, *spare, runner.next_cluster++);
    return spare;
}

}  // namespace machine
