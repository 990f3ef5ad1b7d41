#include "hazards.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace engine {

constexpr size_t MOST_HAZARDS = 1000;

void Hazards::Stretch::refine(unsigned size) {
    std::vector<Word> coarse;
    coarse.swap(words);
    unsigned parts = word_bytes / size;
    words.reserve(coarse.size() * parts);
    for (const Word& word : coarse) {
        words.push_back(word);
        for (unsigned part = 1; part < parts; part++) {
            words.push_back({word.write, copy(word.readers), copy(word.strong_writers)});
        }
    }
    word_bytes = size;
}

uint32_t Hazards::Stretch::copy(uint32_t first) {
    std::vector<Touch> all;
    for (uint32_t at = first; at; at = pool[at].next) all.push_back(pool[at]);
    uint32_t copied = 0;
    for (auto touching = all.rbegin(); touching != all.rend(); ++touching) add(copied, *touching);
    return copied;
}

void Hazards::Stretch::add(uint32_t& first, Touch touching) {
    uint32_t at = unused;
    if (at) {
        unused = pool[at].next;
    } else {
        at = static_cast<uint32_t>(pool.size());
        pool.emplace_back();
    }
    touching.next = first;
    pool[at] = touching;
    first = at;
}

// The one that `link` leads to; then it leads to the next one.
void Hazards::Stretch::remove(uint32_t& link) {
    uint32_t at = link;
    link = pool[at].next;
    pool[at].next = unused;
    unused = at;
}

// ---- what puts accesses in order

void Hazards::start_block(size_t slot, uint64_t number, unsigned cluster) {
    if (slot >= blocks_.size()) {
        blocks_.resize(slot + 1);
        blocks_[slot].shared.bytes = shared_bytes_;
    }
    forget_flights(slot);
    uint32_t epoch = slot == 0 ? ++epoch_ : epoch_;  // those that take turns start together
    BlockState block;
    block.number = number;
    block.cluster = cluster;
    block.start = block.barrier = epoch;
    block.warps.assign(warps_a_block_, {epoch});
    block.threads.resize(block_size_);
    block.shared = std::move(here().shared);  // it starts anew with each block: what it remembers is older than `start`
    here() = std::move(block);
}

void Hazards::meet_block() { here().barrier = ++epoch_; }

void Hazards::meet_warp(int warp) { here().warps[static_cast<size_t>(warp)].met = ++epoch_; }

void Hazards::call_warp(int warp) { here().warps[static_cast<size_t>(warp)].called = ++epoch_; }

// Each learns what any of them knows.
void Hazards::meet_lanes(int warp, unsigned lanes) {
    ByThread all;
    epoch_++;
    for (int lane : EachLane{lanes}) {
        all.learn(own(warp * warp_size_ + lane).lanes);
        all.learn(static_cast<size_t>(lane), epoch_);
    }
    for (int lane : EachLane{lanes}) own(warp * warp_size_ + lane).lanes = all;
}

void Hazards::meet_warps(uint32_t warps) {
    BlockState& block = here();
    epoch_++;
    ByThread all;
    for (unsigned warp : EachLane{warps}) {
        all.learn(block.warps[warp].threads);
        for (int lane = 0; lane < warp_size_; lane++) all.learn(warp * warp_size_ + lane, epoch_);
    }
    for (unsigned warp : EachLane{warps}) {
        WarpState& met = block.warps[warp];
        met.threads = all;
        met.version++;
        met.met = epoch_;
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

// One for the block alone puts nothing of other blocks in order.
void Hazards::fence(int thread, bool is_of_block) {
    BlockState& block = here();
    block.warps[warp_of(thread)].fenced |= 1u << thread % warp_size_;
    uint64_t seen = std::exchange(own(thread).seen, NO_WORD);
    if (seen != NO_WORD) take_over(thread, seen, own(thread).seen_owner);
    if (!is_of_block) block.fence = ++epoch_;
}

void Hazards::hand_over(int thread, uint64_t word, size_t owner) {
    WordKnowledge& handed = blocks_[owner].words[word];
    unsigned warp = warp_of(thread);
    epoch_++;
    learn(handed.blocks, here().known);
    learn(handed.blocks, here().number, epoch_);
    if (owner != here_) return;
    handed.given.resize(here().warps.size());
    const WarpState& mine = here().warps[warp];
    if (std::exchange(handed.given[warp], mine.version) != mine.version) handed.threads.learn(mine.threads);
    for (int lane = 0; lane < warp_size_; lane++) {
        handed.threads.learn(warp * warp_size_ + lane, std::max(own(thread).lanes.of(lane), mine.met));
    }
    handed.threads.learn(thread, epoch_);
}

// Who arrives at a barrier has found there what those left that came before.
void Hazards::arrive(int thread, uint64_t word, size_t owner) {
    Stretch& shared = blocks_[owner].shared;
    for (uint64_t at = 0; at < sizeof word; at += shared.word_bytes) {
        Word& touched = shared.word_at(word + at);
        for (uint32_t* link : {&touched.readers, &touched.strong_writers}) {
            while (*link) {
                if (shared.pool[*link].epoch < epoch_) shared.remove(*link);
                else link = &shared.pool[*link].next;
            }
        }
    }
    hand_over(thread, word | ARRIVING, owner);
}

void Hazards::take_over(int thread, uint64_t word, size_t owner) {
    WordKnowledge& handed = blocks_[owner].words[word];
    if (!handed.landing.empty()) land_at_phase(handed, owner);
    BlockState& block = here();
    unsigned warp = warp_of(thread);
    learn(block.known, handed.blocks);
    block.known.erase(block.number);
    handed.told.resize(block.warps.size());
    if (owner != here_ || std::exchange(handed.told[warp], handed.threads.newest) == handed.threads.newest) return;
    block.warps[warp].threads.learn(handed.threads);
    block.warps[warp].version++;
}

// An atomic or volatile access: what the block had done before its last fence is over for all that
// see it, and what others had done before theirs is over for this block.
void Hazards::exchange_with_blocks(const ThreadAccess& access) {
    if (access.is_of_block) return;
    Knowledge& handed = handed_[access.address];
    BlockState& block = here();
    if (access.ask != Ask::STORE) learn(block.known, handed);
    if (access.ask == Ask::LOAD || !block.fence) return;
    learn(handed, block.known);
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

// Which lanes of those that touched a word come before what thread `now` does now.
uint32_t Hazards::lanes_before(const Touch& other, int now) const {
    constexpr uint32_t all = ~0u;
    const BlockState& block = here();
    if (!is_here(other)) return is_ordered_between_blocks(other.warp / warps_a_block_, other.epoch) ? all : lanes_over(other, now);
    if (other.epoch < block.barrier) return all;
    const WarpState& warp = block.warps[warp_of(now)];
    bool is_own = other.warp == in_grid(warp_of(now));
    if (is_own && other.epoch < warp.met) return all;
    uint32_t newest = std::max(warp.threads.newest, block.threads[static_cast<size_t>(now)].lanes.newest);
    uint32_t over = other.epoch < newest || block.heard ? lanes_over(other, now) : 0;
    return is_own && other.epoch != IN_FLIGHT ? over | 1u << now % warp_size_ : over;
}

// The same of what only some threads have let others know.
uint32_t Hazards::lanes_over(const Touch& other, int now) const {
    const BlockState& block = here();
    const WarpState& warp = block.warps[warp_of(now)];
    const ByThread& own_lanes = block.threads[static_cast<size_t>(now)].lanes;
    bool is_own = other.warp == in_grid(warp_of(now));
    uint64_t its_block = other.warp / warps_a_block_;
    return lanes_where(other.lanes, [&](int lane) {
        size_t thread = other.warp % warps_a_block_ * warp_size_ + lane;
        if (is_here(other) && warp.threads.is_over(thread, other.epoch)) return true;
        if (is_own && own_lanes.is_over(static_cast<size_t>(lane), other.epoch)) return true;
        return block.heard && std::any_of(blocks_.begin(), blocks_.end(), [&](const BlockState& one) {
            bool has_met = one.number == its_block && (is_grid_apart_ || one.cluster == block.cluster);
            return has_met && one.arrived[block.heard % 2].is_over(thread, other.epoch);
        });
    });
}

void Hazards::arrive_apart(int thread) { here().arriving.learn(thread, ++epoch_); }

void Hazards::end_apart(bool is_grid) {
    is_grid_apart_ = is_grid;
    for (BlockState& block : blocks_) {
        if (is_grid || block.cluster == here().cluster) block.arrived[++block.phases % 2] = block.arriving;
    }
}

// ---- accesses

// What an access means beside its word. By an atomic or volatile one behind a fence a thread hands over what its warp
// did before; by reading that and a fence, another of the block takes it over.
void Hazards::note_order(const ThreadAccess& access, size_t owner) {
    bool is_plain = !access.is_strong && !access.is_volatile;
    if (is_plain && access.ask == Ask::LOAD) return;
    uint32_t lane = access.thread % warp_size_;
    uint32_t& fenced = here().warps[warp_of(access.thread)].fenced;
    bool is_fenced = fenced >> lane & 1;
    if (access.ask == Ask::STORE && !access.is_strong) fenced &= ~(1u << lane);
    if (is_plain) return;
    if (access.ask == Ask::STORE && access.is_volatile) note_volatile_store(access, is_fenced);
    if (access.ask != Ask::STORE && blocks_[owner].words.count(access.address)) {
        own(access.thread).seen = access.address;
        own(access.thread).seen_owner = owner;
    }
    if (access.ask != Ask::LOAD && is_fenced) hand_over(access.thread, access.address, owner);
    if (!access.is_shared) exchange_with_blocks(access);
}

void Hazards::note_volatile_store(const ThreadAccess& access, bool is_fenced) {
    Stores& stores = volatile_stores_[access.place];
    uint32_t warp = in_grid(warp_of(access.thread)), lane = access.thread % warp_size_;
    bool is_beside = stores.step == steps_ && stores.warp == warp && stores.lane != lane;
    stores = {stores.are_flags && is_fenced && !is_beside, warp, steps_, lane};
}

void Hazards::access(const ThreadAccess& access, size_t owner) {
    note_order(access, owner);
    if (access.is_shared) {
        watch(blocks_[owner].shared, access, access.address);
        return;
    }
    Stretch& array = arrays_[static_cast<size_t>(access.array)];
    if (array.is_input) {
        if (access.ask != Ask::LOAD) report(HazardKind::input_written, access, access.address);
        else if (array.words.empty()) return;  // nobody has written into it
    }
    watch(array, access, access.offset);
}

void Hazards::take_heap(uint64_t block, uint64_t bytes) {
    heap_.try_emplace(block, bytes).first->second.is_unwritten = true;
}

void Hazards::give_back_heap(uint64_t block) { heap_.erase(block); }

void Hazards::access_heap(const ThreadAccess& access, uint64_t block, uint64_t bytes) {
    note_order(access, here_);
    Stretch& stretch = heap_.try_emplace(block, bytes).first->second;
    ThreadAccess inside = access;
    inside.address = access.address - block;
    inside.is_in_heap = true;
    watch(stretch, inside, inside.address);
}

void Hazards::watch(Stretch& stretch, const ThreadAccess& access, uint64_t offset) {
    if (access.size < stretch.word_bytes) stretch.refine(access.size);
    for (uint64_t at = 0; at < access.size; at += stretch.word_bytes) {
        watch_word(stretch, stretch.word_at(offset + at), access, access.address + at);
    }
    if (is_copying_) take_off(stretch, access, offset);
}

// Atomics and volatile loads do not race with one another, and what else may race with one of them
// is not forgotten for it.
void Hazards::watch_word(Stretch& stretch, Word& word, const ThreadAccess& access, uint64_t address) {
    bool is_load = access.ask == Ask::LOAD;
    bool is_written = is_current(word.write.epoch, access);
    if (is_written && word.write.lanes & ~lanes_before(word.write, access.thread)) {
        report_race(access, address, word.write, true);
    } else {
        look_for_race(stretch, word.strong_writers, access, address, true);
    }
    if (access.is_compare) forgive_reads(stretch, word.readers, access);
    if (!is_load) look_for_race(stretch, word.readers, access, address, false);
    bool is_new = (is_load || (is_atomic(access.ask) && !access.is_exchange)) && (access.is_shared || stretch.is_unwritten) && !is_written;
    if (is_new && !is_any_current(stretch, word.strong_writers, access)) {
        report(HazardKind::uninitialised, access, address);
    }
    if (is_load) {
        if (!stretch.is_input) remember(stretch, word.readers, access);  // a write there is wrong anyway
        return;
    }
    if (access.is_strong) return remember(stretch, word.strong_writers, access);
    for (uint32_t* list : {&word.readers, &word.strong_writers}) {
        while (*list) stretch.remove(*list);
    }
    word.write = touch_of(access);
}

bool Hazards::is_any_current(const Stretch& stretch, uint32_t first, const ThreadAccess& access) const {
    for (uint32_t at = first; at; at = stretch.pool[at].next) {
        if (is_current(stretch.pool[at].epoch, access)) return true;
    }
    return false;
}

// With the first of those that touched the word and do not come before this access.
void Hazards::look_for_race(const Stretch& stretch, uint32_t first, const ThreadAccess& access, uint64_t address,
                            bool are_stores) {
    for (uint32_t at = first; at; at = stretch.pool[at].next) {
        Touch other = stretch.pool[at];
        bool are_atomic = access.is_strong && other.is_strong && (is_here(other) || !(access.is_of_block || other.is_of_block));
        if (!is_current(other.epoch, access) || are_atomic) continue;
        other.lanes &= ~lanes_before(other, access.thread);
        if (other.lanes) return report_race(access, address, other, are_stores);
    }
}

// Reads of the lane that a compare-and-swap of its own follows, which looks whether they still stand.
void Hazards::forgive_reads(const Stretch& stretch, uint32_t first, const ThreadAccess& access) {
    uint32_t warp = in_grid(warp_of(access.thread));
    for (uint32_t at = first; at; at = stretch.pool[at].next) {
        const Touch& read = stretch.pool[at];
        if (read.warp == warp && read.lanes >> access.thread % warp_size_ & 1) first_reads_.insert(read.place);
    }
}

Hazards::Touch Hazards::touch_of(const ThreadAccess& access) const {
    Touch touch;
    touch.epoch = is_copying_ ? IN_FLIGHT : epoch_;
    touch.place = access.place;
    touch.is_strong = access.is_strong;
    touch.is_of_block = access.is_of_block;
    touch.is_volatile = access.is_volatile;
    touch.warp = in_grid(warp_of(access.thread));
    touch.lanes = 1u << access.thread % warp_size_;
    return touch;
}

void Hazards::remember(Stretch& stretch, uint32_t& first, const ThreadAccess& access) {
    Touch mine = touch_of(access);
    for (uint32_t* link = &first; *link;) {
        Touch& other = stretch.pool[*link];
        if (other.is_alike(mine)) {
            other.lanes |= mine.lanes;
            return;
        }
        if (!is_current(other.epoch, access)) {
            stretch.remove(*link);
            continue;
        }
        if (!is_here(other)) {
            if (is_atomic(access.ask)) {  // it has found what their atomics left there
                stretch.remove(*link);
                continue;
            }
            merge_block(stretch, *link);
            break;
        }
        if (other.is_strong || !mine.is_strong) other.lanes &= ~lanes_before(other, access.thread);
        if (other.lanes) link = &other.next;
        else stretch.remove(*link);
    }
    stretch.add(first, mine);
}

// Of those of another block, the one that `first` leads to and those behind it, the last of
// each kind stands for all: between blocks only the epoch counts.
void Hazards::merge_block(Stretch& stretch, uint32_t& first) const {
    uint64_t block = stretch.pool[first].warp / warps_a_block_;
    for (uint32_t* link = &first; *link && stretch.pool[*link].warp / warps_a_block_ == block;) {
        uint32_t* next = &stretch.pool[*link].next;
        while (*next && stretch.pool[*next].epoch != IN_FLIGHT && stretch.pool[*link].epoch != IN_FLIGHT &&
               stretch.pool[*next].warp / warps_a_block_ == block &&
               stretch.pool[*next].is_of_kind(stretch.pool[*link])) {
            stretch.pool[*link].epoch = std::max(stretch.pool[*link].epoch, stretch.pool[*next].epoch);
            stretch.remove(*next);
        }
        link = next;
    }
}

void Hazards::note(HazardKind kind, uint32_t place, int thread, uint64_t what, uint32_t other_place, int other_thread) {
    ThreadAccess access{};
    access.thread = thread;
    access.place = place;
    Touch other;
    other.place = other_place;
    other.warp = in_grid(warp_of(other_thread));
    other.lanes = 1u << other_thread % warp_size_;
    report(kind, access, what, other);
}

// ---- what is found

HazardKind Hazards::kind_of_race(const ThreadAccess& access, const Touch& other) const {
    unsigned warp = warp_of(access.thread);
    if (other.warp != in_grid(warp)) return HazardKind::race;
    if (access.is_volatile && other.is_volatile) return HazardKind::race_in_step;
    return other.epoch < here().warps[warp].called ? HazardKind::race_over_call : HazardKind::race;
}

// Of two plain stores one has to see first which value it leaves.
void Hazards::report_race(const ThreadAccess& access, uint64_t address, const Touch& other, bool other_is_store) {
    bool are_stores = access.ask == Ask::STORE && other_is_store && !other.is_strong && other.epoch != IN_FLIGHT && !is_copying_;
    if (!are_stores) return report(kind_of_race(access, other), access, address, other, other_is_store);
    undecided_.push_back({access, address, other, {}});
    memcpy(undecided_.back().before, access.memory, access.size);
}

void Hazards::decide() {
    for (const Undecided& each : undecided_) {
        bool is_same_value = memcmp(each.before, each.access.memory, each.access.size) == 0;
        HazardKind kind = is_same_value ? HazardKind::same_value : kind_of_race(each.access, each.other);
        report(kind, each.access, each.address, each.other, true);
    }
    undecided_.clear();
}

bool Hazards::is_flag(uint32_t place) const {
    auto stores = volatile_stores_.find(place);
    return stores != volatile_stores_.end() && stores->second.are_flags;
}

bool Hazards::is_excused(const Hazard& hazard) const {
    if (hazard.kind != HazardKind::race && hazard.kind != HazardKind::race_in_step) return false;
    uint32_t load = hazard.is_store ? hazard.other_place : hazard.place;
    bool is_load = !(hazard.is_store && hazard.other_is_store);
    if (hazard.is_atomic || hazard.other_is_atomic) {
        if (is_load) return first_reads_.count(load);
        return is_flag(hazard.is_atomic ? hazard.other_place : hazard.place);
    }
    if (!hazard.is_volatile || !hazard.other_is_volatile) return false;
    if (is_load) return polls_.count(load) || is_flag(hazard.is_store ? hazard.place : hazard.other_place);
    return is_flag(hazard.place) && is_flag(hazard.other_place);
}

std::vector<Hazard> Hazards::found() const {
    std::vector<Hazard> kept;
    std::copy_if(found_.begin(), found_.end(), std::back_inserter(kept), [&](const Hazard& each) { return !is_excused(each); });
    return kept;
}

void Hazards::report(HazardKind kind, const ThreadAccess& access, uint64_t address, const Touch& other,
                     bool other_is_store) {
    if (other.epoch == IN_FLIGHT) kind = HazardKind::in_flight;
    auto [at, is_new] = index_of_.try_emplace({kind, access.place, other.place}, found_.size());
    if (!is_new) {
        found_[at->second].times++;
        return;
    }
    if (found_.size() == MOST_HAZARDS) {
        index_of_.erase(at);
        return;
    }
    Hazard hazard{};
    hazard.address = address;
    hazard.times = 1;
    hazard.block = here().number;
    hazard.kind = kind;
    hazard.place = access.place;
    hazard.other_place = other.place;
    hazard.thread = access.thread;
    hazard.other_thread = other.lanes ? other.warp % warps_a_block_ * warp_size_ + __builtin_ctz(other.lanes) : 0;
    hazard.is_shared = access.is_shared;
    hazard.is_in_heap = access.is_in_heap;
    hazard.is_volatile = access.is_volatile;
    hazard.other_is_volatile = other.is_volatile;
    hazard.is_atomic = access.is_strong && !access.is_volatile;
    hazard.other_is_atomic = other.is_strong && !other.is_volatile;
    hazard.is_store = access.ask != Ask::LOAD;
    hazard.other_is_store = other_is_store;
    hazard.other_is_elsewhere = other.epoch != 0 && !is_here(other);
    found_.push_back(hazard);
}

}  // namespace engine
