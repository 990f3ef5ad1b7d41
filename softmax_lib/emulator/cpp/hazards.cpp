#include "hazards.h"

#include <algorithm>

namespace emulator {

constexpr size_t MOST_HAZARDS = 1000;

Hazards::Hazards(const std::vector<WatchedBytes>& arrays, size_t shared_bytes, int block_size, int warp_size)
    : block_size_(static_cast<uint64_t>(block_size)), warp_size_(warp_size), shared_bytes_(shared_bytes) {
    for (const WatchedBytes& array : arrays) {
        arrays_.emplace_back(array.bytes);
        arrays_.back().is_input = array.is_input;
        arrays_.back().is_unwritten = array.is_unwritten;
    }
}

void Hazards::Stretch::refine(unsigned bytes) {
    std::vector<Word> coarse;
    coarse.swap(words);
    unsigned parts = word_bytes / bytes;
    words.reserve(coarse.size() * parts);
    for (const Word& word : coarse) {
        std::vector<Reader> readers;
        for (uint32_t at = word.readers; at; at = pool[at].next) readers.push_back(pool[at]);
        for (unsigned part = 0; part < parts; part++) {
            words.push_back({word.write, part ? 0 : word.readers});
            if (!part) continue;
            for (auto reader = readers.rbegin(); reader != readers.rend(); ++reader) add(words.back(), *reader);
        }
    }
    word_bytes = bytes;
}

void Hazards::Stretch::add(Word& word, Reader reader) {
    uint32_t at = unused;
    if (at) {
        unused = pool[at].next;
    } else {
        at = static_cast<uint32_t>(pool.size());
        pool.emplace_back();
    }
    reader.next = word.readers;
    pool[at] = reader;
    word.readers = at;
}

// The reader that `link` leads to; then it leads to the next one.
void Hazards::Stretch::remove(uint32_t& link) {
    uint32_t at = link;
    link = pool[at].next;
    pool[at].next = unused;
    unused = at;
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

bool Hazards::is_current(uint32_t epoch, const ThreadAccess& access) const {
    return epoch && (!access.is_shared || epoch >= here().start);
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

// Which lanes of a reader come before what thread `now` does now.
uint32_t Hazards::lanes_before(const Reader& reader, int now) const {
    constexpr uint32_t all = ~0u;
    const BlockState& block = here();
    uint64_t before_block = reader.warp / warps_a_block();
    if (before_block != block.number) return is_ordered_between_blocks(before_block, reader.epoch) ? all : 0;
    if (reader.epoch < block.barrier) return all;
    unsigned other = static_cast<unsigned>(reader.warp % warps_a_block()), warp = warp_of(now);
    if (other != warp) return block.of_warps.is_over(warp, other, reader.epoch) ? all : 0;
    if (reader.epoch < block.warps[warp]) return all;
    uint32_t before = 1u << now % warp_size_;
    const Acquaintance& lanes = block.lanes[warp];
    for (int lane = 0; lanes.is_any() && lane < warp_size_; lane++) {
        if (lanes.is_over(now % warp_size_, lane, reader.epoch)) before |= 1u << lane;
    }
    return before;
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
        watch_word(stretch, stretch.words[(offset + at) / stretch.word_bytes], access, access.address + at);
    }
}

void Hazards::watch_word(Stretch& stretch, Word& word, const ThreadAccess& access, uint64_t address) {
    bool is_load = access.operation == Operation::load, is_atomic = access.operation == Operation::atomic;
    bool is_written = is_current(word.write.epoch, access);
    if (is_written && !is_ordered(word.write, access.thread) && !(access.is_strong && word.write.is_strong)) {
        report(HazardKind::race, access, address, word.write, true);
    } else if ((is_load || is_atomic) && (access.is_shared || stretch.is_unwritten) && !is_written) {
        report(HazardKind::uninitialised, access, address, Touch(), false);
    }
    if (is_load) {
        remember_read(stretch, word, access);
    } else {
        end_reads(stretch, word, access, address);
        word.write = Touch(epoch_, access, in_grid(access.thread));
    }
}

void Hazards::remember_read(Stretch& stretch, Word& word, const ThreadAccess& access) {
    Reader mine;
    mine.epoch = epoch_;
    mine.place = access.place;
    mine.is_strong = access.is_strong;
    mine.warp = static_cast<uint32_t>(here().number * warps_a_block() + warp_of(access.thread));
    mine.lanes = 1u << access.thread % warp_size_;
    uint64_t first_warp = here().number * warps_a_block();
    for (uint32_t* link = &word.readers; *link;) {
        Reader& reader = stretch.pool[*link];
        if (reader.is_alike(mine)) {
            reader.lanes |= mine.lanes;
            return;
        }
        if (!is_current(reader.epoch, access)) {
            stretch.remove(*link);
            continue;
        }
        if (reader.warp < first_warp || reader.warp >= first_warp + warps_a_block()) {
            merge_block(stretch, *link);
            break;
        }
        reader.lanes &= ~lanes_before(reader, access.thread);
        if (reader.lanes) link = &reader.next;
        else stretch.remove(*link);
    }
    stretch.add(word, mine);
}

// Of the readers of another block, the one that `first` leads to and those behind it, the last of
// each kind stands for all: between blocks only the epoch counts.
void Hazards::merge_block(Stretch& stretch, uint32_t& first) const {
    uint64_t block = stretch.pool[first].warp / warps_a_block();
    for (uint32_t* link = &first; *link && stretch.pool[*link].warp / warps_a_block() == block;) {
        uint32_t* next = &stretch.pool[*link].next;
        while (*next && stretch.pool[*next].warp / warps_a_block() == block &&
               stretch.pool[*next].is_strong == stretch.pool[*link].is_strong) {
            stretch.pool[*link].epoch = std::max(stretch.pool[*link].epoch, stretch.pool[*next].epoch);
            stretch.remove(*next);
        }
        link = next;
    }
}

Hazards::Touch Hazards::touch_of(const Reader& reader, uint32_t lanes) const {
    uint64_t block = reader.warp / warps_a_block(), warp = reader.warp % warps_a_block();
    Touch touch;
    touch.epoch = reader.epoch;
    touch.place = reader.place;
    touch.is_strong = reader.is_strong;
    touch.thread = static_cast<uint32_t>(block * block_size_ + warp * warp_size_ + __builtin_ctz(lanes));
    return touch;
}

// A write: each read of the word comes before it, or races with it. Atomics and volatile accesses do
// not race with one another; then the reads stay, for a plain write to come.
void Hazards::end_reads(Stretch& stretch, Word& word, const ThreadAccess& access, uint64_t address) {
    bool is_reported = false;
    for (uint32_t* link = &word.readers; *link;) {
        Reader& reader = stretch.pool[*link];
        uint32_t lanes = is_current(reader.epoch, access) ? reader.lanes & ~lanes_before(reader, access.thread) : 0;
        bool may_be_both = access.is_strong && reader.is_strong;
        if (lanes && may_be_both) {
            link = &reader.next;
            continue;
        }
        if (lanes && !is_reported) report(HazardKind::race, access, address, touch_of(reader, lanes), false);
        is_reported |= lanes != 0;
        stretch.remove(*link);
    }
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
