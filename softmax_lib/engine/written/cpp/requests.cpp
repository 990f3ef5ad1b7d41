// Requests, sectors and wavefronts of warps.
#include "requests.h"

#include <algorithm>

namespace emulator {

constexpr unsigned SECTOR_BYTES = 32, BANK_BYTES = 4, BANKS = 32;
// Accesses of a warp at one line between two meetings; an endless loop comes here.
constexpr size_t MOST_PENDING = size_t(1) << 23;

uint32_t Requests::index_of(uint32_t place, Operation operation, bool is_shared, unsigned size, int array) {
    uint64_t key = uint64_t(place) << 32 | uint64_t(array & 0xffff) << 16 | uint64_t(size) << 8 |
                   uint64_t(is_shared) << 7 | uint64_t(operation);
    auto [found, is_new] = index_of_.try_emplace(key, counts.size());
    if (is_new) {
        LineCounts fresh{};
        fresh.place = place;
        fresh.operation = static_cast<int32_t>(operation);
        fresh.is_shared = is_shared;
        fresh.size = static_cast<int32_t>(size);
        fresh.array = array;
        counts.push_back(fresh);
    }
    return found->second;
}

uint32_t Requests::index_of(const ThreadAccess& access) {
    if (access.site >= known_.size()) known_.resize(access.site + 1);
    Known& known = known_[access.site];
    int operation = static_cast<int>(access.operation);
    if (known.index[operation] < 0 || known.array[operation] != access.array) {
        known.array[operation] = access.array;
        known.index[operation] = static_cast<int32_t>(
            index_of(access.place, access.operation, access.is_shared, access.size, access.array));
    }
    return static_cast<uint32_t>(known.index[operation]);
}

void Requests::start_block(size_t slot) {
    if (slot >= pending_.size()) pending_.resize(slot + 1);
    pending_[slot].resize(warps_);
}

void Requests::call(uint32_t place, Operation operation, unsigned lanes) {
    LineCounts& line = counts[index_of(place, operation, false, 0, -1)];
    line.requests++;
    line.lanes += static_cast<uint64_t>(__builtin_popcount(lanes));
}

void Requests::access(size_t slot, const ThreadAccess& access) {
    uint32_t index = index_of(access);
    std::vector<Pending>& lines = pending_[slot][static_cast<size_t>(access.thread / warp_size_)];
    if (index >= lines.size()) lines.resize(index + 1);
    Pending& pending = lines[index];
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
}

void Requests::close(size_t slot, int warp) {
    std::vector<Pending>& lines = pending_[slot][static_cast<size_t>(warp)];
    for (size_t index = 0; index < lines.size(); index++) {
        if (!lines[index].runs.empty()) close_line(counts[index], lines[index]);
    }
}

void Requests::close_all(size_t slot) {
    for (size_t warp = 0; warp < warps_; warp++) close(slot, static_cast<int>(warp));
}

// A lane that waited for others in between has several runs: makes them one, and lanes rise.
void Requests::gather(Pending& pending) {
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
void Requests::close_line(LineCounts& line, Pending& pending) {
    bool is_rising = true;
    for (size_t i = 1; i < pending.runs.size(); i++) {
        is_rising = is_rising && pending.runs[i - 1].lane < pending.runs[i].lane;
    }
    if (!is_rising) gather(pending);
    const uint64_t *at[32], *end[32];
    int lanes = static_cast<int>(pending.runs.size());
    for (int i = 0; i < lanes; i++) at[i] = pending.addresses.data() + pending.runs[i].start;
    for (int i = 0; i + 1 < lanes; i++) end[i] = at[i + 1];
    end[lanes - 1] = pending.addresses.data() + pending.addresses.size();
    for (;;) {
        uint64_t addresses[32];
        uint8_t lane_of[32];
        int taking_part = 0;
        for (int i = 0; i < lanes; i++) {
            if (at[i] == end[i]) continue;
            lane_of[taking_part] = static_cast<uint8_t>(pending.runs[i].lane);
            addresses[taking_part++] = *at[i]++;
        }
        if (!taking_part) break;
        count_request(line, addresses, lane_of, taking_part);
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
static int count_wavefronts(const uint64_t* addresses, const uint8_t* lane_of, int lanes, unsigned size) {
    int words = size > BANK_BYTES ? static_cast<int>(size / BANK_BYTES) : 1;
    int group = static_cast<int>(BANKS) / words, passes = 0;
    for (int at = 0; at < lanes;) {
        uint64_t of_bank[BANKS][32];
        uint8_t count[BANKS] = {}, most = 0;
        for (int part = lane_of[at] / group; at < lanes && lane_of[at] / group == part; at++) {
            for (int i = 0; i < words; i++) {
                uint64_t word = addresses[at] / BANK_BYTES + i;
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

void Requests::count_request(LineCounts& line, const uint64_t* addresses, const uint8_t* lane_of, int lanes) {
    line.requests++;
    line.lanes += lanes;
    line.bytes += static_cast<uint64_t>(count_addresses(addresses, lanes)) * line.size;
    if (line.is_shared) {
        line.wavefronts += count_wavefronts(addresses, lane_of, lanes, line.size);
        line.ideal += (lanes * line.size + BANKS * BANK_BYTES - 1) / (BANKS * BANK_BYTES);
    } else {
        line.sectors += count_sectors(addresses, lanes, line.size);
    }
}

}  // namespace emulator
