#include "hazards.h"

#include <algorithm>

namespace emulator {

constexpr size_t MOST_HAZARDS = 1000;

Hazards::Hazards(const std::vector<WatchedBytes>& arrays, size_t shared_bytes, int block_size, int warp_size)
    : block_size_(static_cast<uint64_t>(block_size)), warp_size_(warp_size), shared_bytes_(shared_bytes) {
    for (const WatchedBytes& array : arrays) {
        arrays_.emplace_back(array.bytes);
        arrays_.back().is_input = array.is_input;
    }
}

void Hazards::Stretch::refine(unsigned bytes) {
    std::vector<Word> finer;
    unsigned parts = word_bytes / bytes;
    finer.reserve(words.size() * parts);
    for (const Word& word : words) finer.insert(finer.end(), parts, word);
    words.swap(finer);
    word_bytes = bytes;
}

// ---- what puts accesses in order

void Hazards::start_block(size_t slot, uint64_t number, unsigned cluster) {
    if (slot >= blocks_.size()) blocks_.resize(slot + 1);
    BlockState& block = blocks_[slot];
    size_t warps = (block_size_ + warp_size_ - 1) / warp_size_;
    uint32_t epoch = slot == 0 ? ++epoch_ : epoch_;  // those that take turns start together
    block.number = number;
    block.cluster = cluster;
    block.start = block.barrier = epoch;
    block.fence = 0;
    block.warps.assign(warps, epoch);
    block.lanes.assign(warps, Acquaintance());
    block.of_warps = Acquaintance();
    block.words.clear();
    block.known.clear();
    // Shared memory starts anew with each block, and what it remembers is older than `start`.
    if (block.shared.words.size() < shared_bytes_ / 4 + 1) block.shared = Stretch(shared_bytes_);
}

void Hazards::meet_block() { here().barrier = ++epoch_; }

void Hazards::meet_warp(int warp) { here().warps[static_cast<size_t>(warp)] = ++epoch_; }

void Hazards::meet_lanes(int warp, unsigned lanes) { here().lanes[static_cast<size_t>(warp)].meet(lanes, ++epoch_); }

void Hazards::meet_warps(uint32_t warps) {
    BlockState& block = here();
    block.of_warps.meet(warps, ++epoch_);
    for (size_t warp = 0; warp < block.warps.size(); warp++) {
        if (warps >> warp & 1) block.warps[warp] = epoch_;
    }
}

void Hazards::meet_cluster() {
    cluster_epochs_[here().cluster] = ++epoch_;
    for (BlockState& block : blocks_) {
        if (block.cluster == here().cluster) block.barrier = epoch_;
    }
}

void Hazards::meet_grid() {
    grid_epoch_ = ++epoch_;
    for (BlockState& block : blocks_) block.barrier = epoch_;
}

void Hazards::fence() { here().fence = ++epoch_; }

static void learn(std::unordered_map<uint64_t, uint32_t>& known, uint64_t block, uint32_t epoch) {
    uint32_t& before = known[block];
    before = std::max(before, epoch);
}

void Hazards::hand_over(int thread, uint64_t word, size_t owner) {
    WordKnowledge& handed = blocks_[owner].words[word];
    unsigned warp = warp_of(thread);
    epoch_++;
    for (const auto& [number, epoch] : here().known) learn(handed.blocks, number, epoch);
    learn(handed.blocks, here().number, epoch_);
    if (owner != here_) return;
    learn(handed.warps, here().of_warps.of(warp));
    handed.warps[warp] = epoch_;
}

void Hazards::take_over(int thread, uint64_t word, size_t owner) {
    const WordKnowledge& handed = blocks_[owner].words[word];
    BlockState& block = here();
    unsigned warp = warp_of(thread);
    for (const auto& [number, epoch] : handed.blocks) {
        if (number != block.number) learn(block.known, number, epoch);
    }
    if (owner != here_) return;
    learn(block.of_warps.of(warp), handed.warps);
    block.warps[warp] = std::max(block.warps[warp], handed.warps[warp]);
}

// An atomic or volatile access: what the block had done before its last fence is over for all that
// see it, and what others had done before theirs is over for this block.
void Hazards::exchange_with_blocks(const ThreadAccess& access) {
    Knowledge& handed = handed_[access.address];
    BlockState& block = here();
    if (access.operation != Operation::store) {
        for (const auto& [number, epoch] : handed) learn(block.known, number, epoch);
    }
    if (access.operation == Operation::load || !block.fence) return;
    for (const auto& [number, epoch] : block.known) learn(handed, number, epoch);
    learn(handed, block.number, block.fence);
}

bool Hazards::is_current(const Touch& touch, const ThreadAccess& access) const {
    return touch.epoch && (!access.is_shared || touch.epoch >= here().start);
}

bool Hazards::is_ordered_between_blocks(uint64_t before_block, uint32_t epoch) const {
    if (epoch < grid_epoch_) return true;
    const BlockState& block = here();
    auto met = cluster_epochs_.find(block.cluster);
    if (met != cluster_epochs_.end() && epoch >= block.start && epoch < met->second) {
        for (const BlockState& other : blocks_) {
            if (other.number == before_block && other.cluster == block.cluster) return true;
        }
    }
    auto known = block.known.find(before_block);
    return known != block.known.end() && epoch < known->second;
}

// Whether an access made before comes before one that thread `now` makes now.
bool Hazards::is_ordered(const Touch& before, int now) const {
    const BlockState& block = here();
    uint64_t before_block = before.thread / block_size_;
    if (before_block != block.number) return is_ordered_between_blocks(before_block, before.epoch);
    int thread = static_cast<int>(before.thread % block_size_);
    if (thread == now || before.epoch < block.barrier) return true;
    unsigned other = warp_of(thread), warp = warp_of(now);
    if (other != warp) return block.of_warps.is_over(warp, other, before.epoch);
    return before.epoch < block.warps[warp] ||
           block.lanes[warp].is_over(now % warp_size_, thread % warp_size_, before.epoch);
}

// ---- accesses

void Hazards::access(const ThreadAccess& access, size_t owner) {
    if (access.is_strong && !access.is_shared) exchange_with_blocks(access);
    if (access.is_shared) {
        watch(blocks_[owner].shared, access, access.address);
        return;
    }
    Stretch& array = arrays_[static_cast<size_t>(access.array)];
    if (array.is_input && access.operation != Operation::load) {
        report(HazardKind::input_written, access, access.address, Touch(), false);
    }
    watch(array, access, access.offset);
}

void Hazards::watch(Stretch& stretch, const ThreadAccess& access, uint64_t offset) {
    if (access.size < stretch.word_bytes) stretch.refine(access.size);
    for (uint64_t at = 0; at < access.size; at += stretch.word_bytes) {
        watch_word(stretch.words[(offset + at) / stretch.word_bytes], access, access.address + at);
    }
}

void Hazards::watch_word(Word& word, const ThreadAccess& access, uint64_t address) {
    bool is_load = access.operation == Operation::load, is_atomic = access.operation == Operation::atomic;
    auto is_race = [&](const Touch& touch) {
        return is_current(touch, access) && !is_ordered(touch, access.thread) &&
               !(access.is_strong && touch.is_strong);
    };
    if (is_race(word.write)) {
        report(HazardKind::race, access, address, word.write, true);
    } else if (!is_load && is_race(word.read)) {
        report(HazardKind::race, access, address, word.read, false);
    } else if (!is_load && is_race(word.other_read)) {
        report(HazardKind::race, access, address, word.other_read, false);
    } else if ((is_load || is_atomic) && access.is_shared && !is_current(word.write, access)) {
        report(HazardKind::uninitialised, access, address, Touch(), false);
    }
    Touch touch(epoch_, access, in_grid(access.thread));
    if (!is_load) {
        word.write = touch;
        return;
    }
    if (word.read.thread != touch.thread || word.read.epoch < here().start) word.other_read = word.read;
    word.read = touch;
}

void Hazards::absent_lane(uint32_t place, int thread, int lane) {
    ThreadAccess call{};
    call.thread = thread;
    call.operation = Operation::shuffle;
    call.place = place;
    report(HazardKind::absent_lane, call, static_cast<uint64_t>(lane), Touch(), false);
}

Hazard Hazards::describe(HazardKind kind, const ThreadAccess& access, uint64_t address, const Touch& other,
                         bool other_is_store) const {
    Hazard hazard{};
    hazard.address = address;
    hazard.times = 1;
    hazard.block = here().number;
    hazard.kind = kind;
    hazard.place = access.place;
    hazard.other_place = other.place;
    hazard.thread = access.thread;
    hazard.other_thread = static_cast<int32_t>(other.thread % block_size_);
    hazard.is_shared = access.is_shared;
    hazard.is_store = access.operation != Operation::load;
    hazard.other_is_store = other_is_store;
    hazard.other_is_elsewhere = other.epoch != 0 && other.thread / block_size_ != here().number;
    return hazard;
}

void Hazards::keep(const Hazard& hazard) {
    auto [at, is_new] = index_of_.try_emplace({hazard.kind, hazard.place, hazard.other_place}, found.size());
    if (!is_new) {
        found[at->second].times++;
    } else if (found.size() == MOST_HAZARDS) {
        index_of_.erase(at);
    } else {
        found.push_back(hazard);
    }
}

}  // namespace emulator
