// Requests, sectors and wavefronts of warps; races and reads of uninitialised shared memory.
#include "meter.h"

#include <algorithm>

#include "launch.h"

namespace emulator {

constexpr unsigned SECTOR_BYTES = 32, WORD_BYTES = 4, BANKS = 32;
constexpr size_t MOST_HAZARDS = 1000;
// Accesses of a warp at one line between two meetings; an endless loop comes here.
constexpr size_t MOST_PENDING = size_t(1) << 23;

Meter::Meter(const std::vector<Array>& arrays, int inputs, const std::vector<Line>& lines,
             size_t shared_bytes, int block_size, int warp_size)
    : lines_(lines),
      warp_size_(warp_size),
      shared_(shared_bytes / WORD_BYTES + 1),
      pending_((block_size + warp_size - 1) / warp_size),
      warp_epochs_(pending_.size(), 1) {
    for (const Array& array : arrays) {
        bool is_input = arrays_.size() < static_cast<size_t>(inputs);
        std::vector<Word> words(array.bytes / WORD_BYTES + 1);
        arrays_.push_back({array.address, array.bytes, is_input, std::move(words)});
    }
}

Meter::Known& Meter::look_up(uint32_t site) {
    if (site >= known_.size()) known_.resize(site + 1);
    auto after = [](uint64_t pc, const Line& line) { return pc < line.start; };
    auto next = std::upper_bound(lines_.begin(), lines_.end(), uint64_t(site) - 1, after);
    known_[site].place = next == lines_.begin() ? 0 : static_cast<int32_t>((next - 1)->place);
    return known_[site];
}

void Meter::start_block(uint64_t block) {
    block_ = static_cast<int>(block);
    block_epoch_ = barrier_epoch_ = ++epoch_;
    std::fill(warp_epochs_.begin(), warp_epochs_.end(), epoch_);
}

void Meter::end_block() {
    for (size_t warp = 0; warp < pending_.size(); warp++) close_requests(static_cast<int>(warp));
}

void Meter::meet_block() {
    end_block();
    barrier_epoch_ = ++epoch_;
}

void Meter::meet_warp(int warp) {
    close_requests(warp);
    warp_epochs_[warp] = ++epoch_;
}

// ---- requests

uint32_t Meter::index_of(uint32_t place, Operation operation, bool is_shared, unsigned size) {
    uint64_t key = uint64_t(place) << 16 | uint64_t(size) << 8 | uint64_t(is_shared) << 7 |
                   uint64_t(operation);
    auto [found, is_new] = index_of_.try_emplace(key, counts.size());
    if (is_new) {
        LineCounts fresh{};
        fresh.place = place;
        fresh.operation = static_cast<int32_t>(operation);
        fresh.is_shared = is_shared;
        fresh.size = static_cast<int32_t>(size);
        counts.push_back(fresh);
    }
    return found->second;
}

void Meter::call(uint32_t place, Operation operation) {
    counts[index_of(place, operation, false, 0)].requests++;
}

void Meter::access(WarpAccess access) {
    Known& site = known(access.site);
    access.place = static_cast<uint32_t>(site.place);
    int32_t& index = site.index[static_cast<int>(access.operation)][access.is_shared];
    if (index < 0) {
        index = static_cast<int32_t>(index_of(access.place, access.operation, access.is_shared, access.size));
    }
    Pending& pending = pending_of(warp_of(access.thread), static_cast<uint32_t>(index));
    uint32_t lane = static_cast<uint32_t>(access.thread % warp_size_);
    size_t start = pending.addresses.size();
    if (start == MOST_PENDING) {
        is_complete = false;
        return;
    }
    if (pending.runs.empty() || pending.runs.back().lane != lane) {
        pending.runs.push_back({lane, static_cast<uint32_t>(start)});
    }
    pending.addresses.push_back(access.address);
    watch(access);
}

void Meter::close_requests(int warp) {
    for (size_t index = 0; index < pending_[warp].size(); index++) {
        Pending& pending = pending_[warp][index];
        if (!pending.runs.empty()) close_line(counts[index], pending);
    }
}

// A lane that waited for others in between has several runs: makes them one.
void Meter::gather(Pending& pending) {
    std::vector<uint64_t> of_lane[32];
    for (size_t i = 0; i < pending.runs.size(); i++) {
        size_t start = pending.runs[i].start;
        size_t end = i + 1 < pending.runs.size() ? pending.runs[i + 1].start : pending.addresses.size();
        auto first = pending.addresses.begin();
        std::vector<uint64_t>& lane = of_lane[pending.runs[i].lane];
        lane.insert(lane.end(), first + start, first + end);
    }
    pending.addresses.clear();
    pending.runs.clear();
    for (uint32_t lane = 0; lane < 32; lane++) {
        if (of_lane[lane].empty()) continue;
        pending.runs.push_back({lane, static_cast<uint32_t>(pending.addresses.size())});
        pending.addresses.insert(pending.addresses.end(), of_lane[lane].begin(), of_lane[lane].end());
    }
}

// The n-th accesses of all lanes are one request.
void Meter::close_line(LineCounts& line, Pending& pending) {
    uint32_t seen = 0, twice = 0;
    for (const Run& run : pending.runs) {
        twice |= seen & 1u << run.lane;
        seen |= 1u << run.lane;
    }
    if (twice) gather(pending);
    const uint64_t *at[32], *end[32];
    int lanes = static_cast<int>(pending.runs.size());
    for (int i = 0; i < lanes; i++) at[i] = pending.addresses.data() + pending.runs[i].start;
    for (int i = 0; i + 1 < lanes; i++) end[i] = at[i + 1];
    end[lanes - 1] = pending.addresses.data() + pending.addresses.size();
    for (;;) {
        uint64_t addresses[32];
        int taking_part = 0;
        for (int i = 0; i < lanes; i++) {
            if (at[i] < end[i]) addresses[taking_part++] = *at[i]++;
        }
        if (!taking_part) break;
        count_request(line, addresses, taking_part);
    }
    pending.addresses.clear();
    pending.runs.clear();
}

// Different numbers among those of a request's lanes.
struct Different {
    uint64_t numbers[64], highest = 0;
    int count = 0;

    void add(uint64_t number) {
        int i = number > highest ? 0 : count;  // mostly they rise
        while (i > 0 && numbers[i - 1] != number) i--;
        if (i == 0) numbers[count++] = number;
        highest = std::max(highest, number);
    }
};

static int count_addresses(const uint64_t* addresses, int lanes) {
    Different different;
    for (int lane = 0; lane < lanes; lane++) different.add(addresses[lane]);
    return different.count;
}

static int count_sectors(const uint64_t* addresses, int lanes, unsigned size) {
    Different sectors;
    for (int lane = 0; lane < lanes; lane++) {
        uint64_t last = (addresses[lane] + size - 1) / SECTOR_BYTES;
        for (uint64_t sector = addresses[lane] / SECTOR_BYTES; sector <= last; sector++) sectors.add(sector);
    }
    return sectors.count;
}

// Each bank serves one word a pass; lanes that want the same word share it. 8 bytes a lane go by
// half warps, 16 by quarters.
static int count_wavefronts(const uint64_t* addresses, int lanes, unsigned size) {
    int words = size > WORD_BYTES ? static_cast<int>(size / WORD_BYTES) : 1;
    int group = static_cast<int>(BANKS) / words, passes = 0;
    for (int start = 0; start < lanes; start += group) {
        uint64_t of_bank[BANKS][32];
        uint8_t count[BANKS] = {}, most = 0;
        for (int lane = start; lane < std::min(start + group, lanes); lane++) {
            for (int i = 0; i < words; i++) {
                uint64_t word = addresses[lane] / WORD_BYTES + i;
                int bank = static_cast<int>(word % BANKS), seen = 0;
                while (seen < count[bank] && of_bank[bank][seen] != word) seen++;
                if (seen == count[bank]) of_bank[bank][count[bank]++] = word;
                most = std::max(most, count[bank]);
            }
        }
        passes += most;
    }
    return passes;
}

void Meter::count_request(LineCounts& line, const uint64_t* addresses, int lanes) {
    line.requests++;
    line.lanes += lanes;
    line.bytes += static_cast<uint64_t>(count_addresses(addresses, lanes)) * line.size;
    if (line.is_shared) {
        line.wavefronts += count_wavefronts(addresses, lanes, line.size);
        line.ideal += (lanes * line.size + BANKS * WORD_BYTES - 1) / (BANKS * WORD_BYTES);
    } else {
        line.sectors += count_sectors(addresses, lanes, line.size);
    }
}

// ---- hazards

void Meter::watch(const WarpAccess& access) {
    if (access.is_shared) {
        for (uint64_t at = access.address; at < access.address + access.size; at += WORD_BYTES) {
            watch_word(shared_[at / WORD_BYTES], access, at);
        }
        return;
    }
    for (Stretch& array : arrays_) {
        uint64_t offset = access.address - array.address;
        if (offset >= array.bytes) continue;
        if (array.is_input && access.operation != Operation::load) {
            report(HazardKind::input_written, access, access.address, Touch(), false);
        }
        for (uint64_t at = offset; at < offset + access.size; at += WORD_BYTES) {
            watch_word(array.words[at / WORD_BYTES], access, array.address + at);
        }
        return;
    }
}

// Shared memory starts anew with each block.
bool Meter::is_current(const Touch& touch, bool is_shared) const {
    return touch.epoch && (!is_shared || touch.epoch >= block_epoch_);
}

// Whether an access made before comes before one that thread `now` makes now.
bool Meter::is_ordered(const Touch& before, int now) const {
    if (before.epoch < block_epoch_) return false;  // by another block
    int thread = static_cast<int>(before.thread);
    if (thread == now || before.epoch < barrier_epoch_) return true;
    return warp_of(thread) == warp_of(now) && before.epoch < warp_epochs_[warp_of(now)];
}

void Meter::watch_word(Word& word, const WarpAccess& access, uint64_t address) {
    bool is_load = access.operation == Operation::load, is_atomic = access.operation == Operation::atomic;
    auto is_race = [&](const Touch& touch) {
        return is_current(touch, access.is_shared) && !is_ordered(touch, access.thread) &&
               !(is_atomic && touch.is_atomic);
    };
    if (is_race(word.write)) {
        report(HazardKind::race, access, address, word.write, true);
    } else if (!is_load && is_race(word.read)) {
        report(HazardKind::race, access, address, word.read, false);
    } else if (!is_load && is_race(word.other_read)) {
        report(HazardKind::race, access, address, word.other_read, false);
    } else if ((is_load || is_atomic) && access.is_shared && !is_current(word.write, true)) {
        report(HazardKind::uninitialised, access, address, Touch(), false);
    }
    Touch touch(epoch_, access);
    if (!is_load) {
        word.write = touch;
        return;
    }
    if (word.read.thread != touch.thread || word.read.epoch < block_epoch_) word.other_read = word.read;
    word.read = touch;
}

void Meter::absent_lane(uint32_t place, int thread, int lane) {
    WarpAccess call{thread, Operation::shuffle, false, 0, 0, 0, place};
    report(HazardKind::absent_lane, call, static_cast<uint64_t>(lane), Touch(), false);
}

void Meter::report(HazardKind kind, const WarpAccess& access, uint64_t address, const Touch& other,
                   bool other_is_store) {
    auto [found, is_new] = hazard_of_.try_emplace({kind, access.place, other.place}, hazards.size());
    if (!is_new) {
        hazards[found->second].times++;
    } else if (hazards.size() < MOST_HAZARDS) {
        hazards.push_back({address, 1, kind, access.place, other.place, access.thread,
                           static_cast<int32_t>(other.thread), block_, access.is_shared,
                           access.operation != Operation::load, other_is_store,
                           other.epoch != 0 && other.epoch < block_epoch_});
    } else {
        hazard_of_.erase(found);
    }
}

}  // namespace emulator
