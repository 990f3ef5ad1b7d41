#include "hazards.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace engine {

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
        words.push_back(word);
        for (unsigned part = 1; part < parts; part++) {
            words.push_back({word.write, copy(word.readers), copy(word.strong_writers)});
        }
    }
    word_bytes = bytes;
}

uint32_t Hazards::Stretch::copy(uint32_t first) {
    std::vector<Touching> all;
    for (uint32_t at = first; at; at = pool[at].next) all.push_back(pool[at]);
    uint32_t copied = 0;
    for (auto touching = all.rbegin(); touching != all.rend(); ++touching) add(copied, *touching);
    return copied;
}

void Hazards::Stretch::add(uint32_t& first, Touching touching) {
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
    if (slot >= blocks_.size()) blocks_.resize(slot + 1);
    forget_flights(slot);
    BlockState& block = blocks_[slot];
    size_t warps = (block_size_ + warp_size_ - 1) / warp_size_;
    uint32_t epoch = slot == 0 ? ++epoch_ : epoch_;  // those that take turns start together
    block.number = number;
    block.cluster = cluster;
    block.start = block.barrier = epoch;
    block.fence = 0;
    block.warps.assign(warps, epoch);
    block.calls.assign(warps, 0);
    block.fenced.assign(warps, 0);
    block.lanes.assign(warps, Acquaintance());
    block.threads.assign(warps, ByThread());
    block.versions.assign(warps, 0);
    block.arriving = ByThread();
    block.phases = block.heard = 0;
    block.words.clear();
    block.seen.clear();
    block.known.clear();
    // Shared memory starts anew with each block, and what it remembers is older than `start`.
    if (block.shared.words.size() < shared_bytes_ / 4 + 1) block.shared = Stretch(shared_bytes_);
}

void Hazards::meet_block() { here().barrier = ++epoch_; }

void Hazards::meet_warp(int warp) { here().warps[static_cast<size_t>(warp)] = ++epoch_; }

void Hazards::call_warp(int warp) { here().calls[static_cast<size_t>(warp)] = ++epoch_; }

void Hazards::meet_lanes(int warp, unsigned lanes) { here().lanes[static_cast<size_t>(warp)].meet(lanes, ++epoch_); }

void Hazards::meet_warps(uint32_t warps) {
    BlockState& block = here();
    epoch_++;
    ByThread all;
    for (unsigned warp : EachLane{warps}) all.learn(block.threads[warp]);
    for (unsigned warp : EachLane{warps}) {
        for (int lane = 0; lane < warp_size_; lane++) all.learn(warp * warp_size_ + lane, epoch_);
    }
    for (unsigned warp : EachLane{warps}) {
        block.threads[warp] = all;
        block.versions[warp]++;
        block.warps[warp] = epoch_;
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
    block.fenced[warp_of(thread)] |= 1u << thread % warp_size_;
    auto seen = block.seen.find(thread);
    if (seen != block.seen.end()) {
        take_over(thread, seen->second.first, seen->second.second);
        block.seen.erase(seen);
    }
    if (!is_of_block) here().fence = ++epoch_;
}

void Hazards::hand_over(int thread, uint64_t word, size_t owner) {
    WordKnowledge& handed = blocks_[owner].words[word];
    unsigned warp = warp_of(thread);
    epoch_++;
    for (const auto& [number, epoch] : here().known) learn(handed.blocks, number, epoch);
    learn(handed.blocks, here().number, epoch_);
    if (owner != here_) return;
    handed.given.resize(here().warps.size());
    if (std::exchange(handed.given[warp], here().versions[warp]) != here().versions[warp]) {
        handed.threads.learn(here().threads[warp]);
    }
    Acquaintance& lanes = here().lanes[warp];
    for (int lane = 0; lane < warp_size_; lane++) {
        uint32_t met = lanes.is_any() ? lanes.of(thread % warp_size_)[lane] : 0;
        handed.threads.learn(warp * warp_size_ + lane, std::max(met, here().warps[warp]));
    }
    handed.threads.learn(thread, epoch_);
}

// Who arrives at a barrier has found there what those left that came before.
void Hazards::arrive(int thread, uint64_t word, size_t owner) {
    Stretch& shared = blocks_[owner].shared;
    for (uint64_t at = 0; at < sizeof word; at += shared.word_bytes) {
        Word& touched = shared.words[(word + at) / shared.word_bytes];
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
    for (const auto& [number, epoch] : handed.blocks) {
        if (number != block.number) learn(block.known, number, epoch);
    }
    handed.told.resize(block.warps.size());
    if (owner != here_ || std::exchange(handed.told[warp], handed.threads.newest) == handed.threads.newest) return;
    block.threads[warp].learn(handed.threads);
    block.versions[warp]++;
}

// An atomic or volatile access: what the block had done before its last fence is over for all that
// see it, and what others had done before theirs is over for this block.
void Hazards::exchange_with_blocks(const ThreadAccess& access) {
    if (access.is_of_block) return;
    Knowledge& handed = handed_[access.address];
    BlockState& block = here();
    if (access.ask != Ask::STORE) {
        for (const auto& [number, epoch] : handed) learn(block.known, number, epoch);
    }
    if (access.ask == Ask::LOAD || !block.fence) return;
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
    int thread = static_cast<int>(before.thread % block_size_);
    if (before_block != block.number && is_ordered_between_blocks(before_block, before.epoch)) return true;
    if (before_block != block.number) return is_over_for_thread(before_block, thread, before.epoch, now);
    if (thread == now) return before.epoch != IN_FLIGHT;
    if (before.epoch < block.barrier) return true;
    unsigned other = warp_of(thread), warp = warp_of(now);
    if (other == warp && before.epoch < block.warps[warp]) return true;
    if (other == warp && block.lanes[warp].is_over(now % warp_size_, thread % warp_size_, before.epoch)) return true;
    return is_over_for_thread(before_block, thread, before.epoch, now);
}

// Which lanes of those that touched a word come before what thread `now` does now.
uint32_t Hazards::lanes_before(const Touching& other, int now) const {
    constexpr uint32_t all = ~0u;
    const BlockState& block = here();
    uint64_t before_block = other.warp / warps_a_block();
    if (before_block != block.number) return is_ordered_between_blocks(before_block, other.epoch) ? all : lanes_over(other, now);
    if (other.epoch < block.barrier) return all;
    unsigned its_warp = static_cast<unsigned>(other.warp % warps_a_block()), warp = warp_of(now);
    uint32_t over = other.epoch < block.threads[warp].newest || block.heard ? lanes_over(other, now) : 0;
    if (its_warp != warp) return over;
    if (other.epoch < block.warps[warp]) return all;
    uint32_t before = over | (other.epoch == IN_FLIGHT ? 0 : 1u << now % warp_size_);
    const Acquaintance& lanes = block.lanes[warp];
    for (int lane = 0; lanes.is_any() && lane < warp_size_; lane++) {
        if (lanes.is_over(now % warp_size_, lane, other.epoch)) before |= 1u << lane;
    }
    return before;
}

// What only some threads have let others know.
bool Hazards::is_over_for_thread(uint64_t number, size_t thread, uint32_t epoch, int now) const {
    const BlockState& block = here();
    if (number == block.number && block.threads[warp_of(now)].is_over(thread, epoch)) return true;
    for (size_t i = 0; block.heard && i < blocks_.size(); i++) {
        const BlockState& other = blocks_[i];
        if (other.number != number || !(is_grid_apart_ || other.cluster == block.cluster)) continue;
        if (other.arrived[block.heard % 2].is_over(thread, epoch)) return true;
    }
    return false;
}

uint32_t Hazards::lanes_over(const Touching& other, int now) const {
    uint64_t block = other.warp / warps_a_block(), first = other.warp % warps_a_block() * warp_size_;
    uint32_t over = 0;
    for (unsigned lane : EachLane{other.lanes}) {
        if (is_over_for_thread(block, first + lane, other.epoch, now)) over |= 1u << lane;
    }
    return over;
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
    uint32_t& fenced = here().fenced[warp_of(access.thread)];
    bool is_fenced = fenced >> lane & 1;
    if (access.ask == Ask::STORE && !access.is_strong) fenced &= ~(1u << lane);
    if (is_plain) return;
    if (access.ask == Ask::STORE && access.is_volatile) note_volatile_store(access, is_fenced);
    if (access.ask != Ask::STORE && blocks_[owner].words.count(access.address)) here().seen[access.thread] = {access.address, owner};
    if (access.ask != Ask::LOAD && is_fenced) hand_over(access.thread, access.address, owner);
    if (!access.is_shared) exchange_with_blocks(access);
}

void Hazards::note_volatile_store(const ThreadAccess& access, bool is_fenced) {
    Stores& stores = volatile_stores_[access.place];
    uint64_t warp = here().number * warps_a_block() + warp_of(access.thread);
    uint32_t lane = access.thread % warp_size_;
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
    if (array.is_input && access.ask != Ask::LOAD) {
        report(HazardKind::input_written, access, access.address);
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
        watch_word(stretch, stretch.words[(offset + at) / stretch.word_bytes], access, access.address + at);
    }
    if (is_copying_) take_off(stretch, access, offset);
}

// Atomics and volatile loads do not race with one another, and what else may race with one of them
// is not forgotten for it.
void Hazards::watch_word(Stretch& stretch, Word& word, const ThreadAccess& access, uint64_t address) {
    bool is_load = access.ask == Ask::LOAD;
    bool is_written = is_current(word.write.epoch, access);
    if (is_written && !is_ordered(word.write, access.thread)) {
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
    word.write = Touch(epoch_of_access(), access, in_grid(access.thread));
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
        const Touching& other = stretch.pool[at];
        if (!is_current(other.epoch, access) || are_atomic(access, other)) continue;
        uint32_t lanes = other.lanes & ~lanes_before(other, access.thread);
        if (lanes) return report_race(access, address, touch_of(other, lanes), are_stores);
    }
}

// Reads of the lane that a compare-and-swap of its own follows, which looks whether they still stand.
void Hazards::forgive_reads(const Stretch& stretch, uint32_t first, const ThreadAccess& access) {
    uint64_t warp = here().number * warps_a_block() + warp_of(access.thread);
    for (uint32_t at = first; at; at = stretch.pool[at].next) {
        const Touching& read = stretch.pool[at];
        if (read.warp == warp && read.lanes >> access.thread % warp_size_ & 1) first_reads_.insert(read.place);
    }
}

// To one another: then they do not race.
bool Hazards::are_atomic(const ThreadAccess& access, const Touching& other) const {
    bool is_within_block = other.warp / warps_a_block() == here().number;
    return access.is_strong && other.is_strong && (is_within_block || !(access.is_of_block || other.is_of_block));
}

void Hazards::remember(Stretch& stretch, uint32_t& first, const ThreadAccess& access) {
    Touching mine;
    mine.epoch = epoch_of_access();
    mine.place = access.place;
    mine.is_strong = access.is_strong;
    mine.is_of_block = access.is_of_block;
    mine.is_volatile = access.is_volatile;
    mine.warp = static_cast<uint32_t>(here().number * warps_a_block() + warp_of(access.thread));
    mine.lanes = 1u << access.thread % warp_size_;
    uint64_t first_warp = here().number * warps_a_block();
    for (uint32_t* link = &first; *link;) {
        Touching& other = stretch.pool[*link];
        if (other.is_alike(mine)) {
            other.lanes |= mine.lanes;
            return;
        }
        if (!is_current(other.epoch, access)) {
            stretch.remove(*link);
            continue;
        }
        if (other.warp < first_warp || other.warp >= first_warp + warps_a_block()) {
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
    uint64_t block = stretch.pool[first].warp / warps_a_block();
    for (uint32_t* link = &first; *link && stretch.pool[*link].warp / warps_a_block() == block;) {
        uint32_t* next = &stretch.pool[*link].next;
        while (*next && stretch.pool[*next].epoch != IN_FLIGHT && stretch.pool[*link].epoch != IN_FLIGHT &&
               stretch.pool[*next].warp / warps_a_block() == block &&
               stretch.pool[*next].is_of_kind(stretch.pool[*link])) {
            stretch.pool[*link].epoch = std::max(stretch.pool[*link].epoch, stretch.pool[*next].epoch);
            stretch.remove(*next);
        }
        link = next;
    }
}

Hazards::Touch Hazards::touch_of(const Touching& other, uint32_t lanes) const {
    uint64_t block = other.warp / warps_a_block(), warp = other.warp % warps_a_block();
    Touch touch;
    touch.epoch = other.epoch;
    touch.place = other.place;
    touch.is_strong = other.is_strong;
    touch.is_volatile = other.is_volatile;
    touch.thread = static_cast<uint32_t>(block * block_size_ + warp * warp_size_ + __builtin_ctz(lanes));
    return touch;
}

static ThreadAccess by(int thread, uint32_t place, Ask ask) {
    ThreadAccess access{};
    access.thread = thread;
    access.ask = ask;
    access.place = place;
    return access;
}

void Hazards::absent_lane(uint32_t place, int thread, int lane) {
    report(HazardKind::absent_lane, by(thread, place, Ask::STORE), static_cast<uint64_t>(lane));
}

void Hazards::unwritten(uint32_t place, int thread) {
    report(HazardKind::unwritten_local, by(thread, place, Ask::LOAD), 0);
}

void Hazards::overflow(uint32_t place, int thread, int64_t result) {
    report(HazardKind::overflow, by(thread, place, Ask::LOAD), static_cast<uint64_t>(result));
}

void Hazards::two_barriers(uint32_t place, int thread, uint32_t other_place, int other_thread) {
    Touch other;
    other.place = other_place;
    other.thread = in_grid(other_thread);
    report(HazardKind::two_barriers, by(thread, place, Ask::LOAD), 0, other);
}

// ---- what is found

HazardKind Hazards::kind_of_race(const ThreadAccess& access, const Touch& other) const {
    const BlockState& block = here();
    uint64_t its_warp = other.thread / block_size_ * warps_a_block() + other.thread % block_size_ / warp_size_;
    unsigned warp = warp_of(access.thread);
    if (its_warp != block.number * warps_a_block() + warp) return HazardKind::race;
    if (access.is_volatile && other.is_volatile) return HazardKind::race_in_step;
    return other.epoch < block.calls[warp] ? HazardKind::race_over_call : HazardKind::race;
}

// Of two plain stores one has to see first which value it leaves.
void Hazards::report_race(const ThreadAccess& access, uint64_t address, const Touch& other, bool other_is_store) {
    bool are_stores = access.ask == Ask::STORE && other_is_store && !other.is_strong && other.epoch != IN_FLIGHT && !is_copying_;
    if (are_stores) undecided_.push_back({access, address, other});
    else report(kind_of_race(access, other), access, address, other, other_is_store);
}

void Hazards::decide(size_t count, bool is_same_value) {
    for (size_t i = 0; i < count; i++) {
        const Undecided& each = undecided_[i];
        HazardKind kind = is_same_value ? HazardKind::same_value : kind_of_race(each.access, each.other);
        report(kind, each.access, each.address, each.other, true);
    }
    undecided_.erase(undecided_.begin(), undecided_.begin() + static_cast<std::ptrdiff_t>(count));
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
    hazard.other_thread = static_cast<int32_t>(other.thread % block_size_);
    hazard.is_shared = access.is_shared;
    hazard.is_in_heap = access.is_in_heap;
    hazard.is_volatile = access.is_volatile;
    hazard.other_is_volatile = other.is_volatile;
    hazard.is_atomic = access.is_strong && !access.is_volatile;
    hazard.other_is_atomic = other.is_strong && !other.is_volatile;
    hazard.is_store = access.ask != Ask::LOAD;
    hazard.other_is_store = other_is_store;
    hazard.other_is_elsewhere = other.epoch != 0 && other.thread / block_size_ != here().number;
    found_.push_back(hazard);
}

}  // namespace engine
