// What warps ask of memory, counted as the hardware counts it.
//
// Lanes of a warp make one request together, so their accesses are matched: those of one source
// line, and each lane's n-th of them since the warp last met (at a barrier, shuffle or vote), belong
// together. Lines and not instructions, since the C++ compiler makes several copies of some.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "hazards.h"
#include "kernel_interface.h"
#include "rules.h"

namespace emulator {

using namespace engine;

// What one line asked for in all, of one array. Requests are those of warps; of barriers, of blocks.
struct LineCounts : Counts {
    uint32_t place;
    int32_t operation;
    int32_t is_shared;
    int32_t size;         // bytes a lane
    int32_t array;        // global arrays first, then shared variables; -1: neither
    int32_t unused;
};
static_assert(sizeof(LineCounts) == 72);

inline Operation operation_of(Ask ask) {
    return is_atomic(ask) ? Operation::atomic : ask == Ask::LOAD ? Operation::load : Operation::store;
}
inline Ask ask_of(const LineCounts& line) {
    switch (static_cast<Operation>(line.operation)) {
        case Operation::load: return Ask::LOAD;
        case Operation::store: return Ask::STORE;
        default: return Ask::CHANGE;  // what else is an atomic's, no line tells
    }
}

// Accesses of a warp at one line between two meetings; an endless loop comes here.
constexpr size_t MOST_PENDING = size_t(1) << 23;

class Requests {
public:
    Requests(int block_size, int warp_size) : warps_((block_size + warp_size - 1) / warp_size), warp_size_(warp_size) {}

    void start_block(size_t slot) {
        if (slot >= pending_.size()) pending_.resize(slot + 1);
        pending_[slot].resize(warps_);
    }
    void access(size_t slot, const ThreadAccess& access, uint32_t site) {
        uint32_t index = index_of(access, site);
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
    void call(uint32_t place, Operation operation, unsigned lanes) {
        LineCounts& line = counts[index_of(place, operation, false, 0, -1)];
        line.requests++;
        line.lanes += static_cast<uint64_t>(__builtin_popcount(lanes));
    }
    // all lanes of the warp have met
    void close(size_t slot, int warp) {
        std::vector<Pending>& lines = pending_[slot][static_cast<size_t>(warp)];
        for (size_t index = 0; index < lines.size(); index++) {
            if (!lines[index].runs.empty()) close_line(counts[index], lines[index]);
        }
    }
    void close_all(size_t slot) {
        for (size_t warp = 0; warp < warps_; warp++) close(slot, static_cast<int>(warp));
    }

    std::vector<LineCounts> counts;
    bool is_complete = true;     // a line was not gone through more often than can be counted

private:
    // Accesses of one lane that follow one another in a log, from `start` on.
    struct Run {
        uint32_t lane, start;
    };
    // What the lanes of a warp asked for at one line since they last met.
    struct Pending {
        std::vector<uint64_t> addresses;
        std::vector<Run> runs;
    };
    // Where the counts of an instruction's accesses are, by operation; -1 before it was seen.
    struct Known {
        int32_t index[3] = {-1, -1, -1};
        int32_t array[3] = {-1, -1, -1};
    };

    uint32_t index_of(uint32_t place, Operation operation, bool is_shared, unsigned size, int array) {
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
    uint32_t index_of(const ThreadAccess& access, uint32_t site) {
        if (site >= known_.size()) known_.resize(site + 1);
        Known& known = known_[site];
        Operation operation = operation_of(access.ask);
        int number = static_cast<int>(operation);
        if (known.index[number] < 0 || known.array[number] != access.array) {
            known.array[number] = access.array;
            known.index[number] = static_cast<int32_t>(
                index_of(access.place, operation, access.is_shared, access.size, access.array));
        }
        return static_cast<uint32_t>(known.index[number]);
    }
    // The n-th accesses of all lanes are one request.
    static void close_line(LineCounts& line, Pending& pending) {
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
            uint32_t taking_part = 0;
            for (int i = 0; i < lanes; i++) {
                if (at[i] == end[i]) continue;
                uint32_t lane = pending.runs[i].lane;
                taking_part |= 1u << lane;
                addresses[lane] = *at[i]++;
            }
            if (!taking_part) break;
            count_request(line, taking_part, addresses);
        }
        pending.addresses.clear();
        pending.runs.clear();
    }
    // A lane that waited for others in between has several runs: makes them one, and lanes rise.
    static void gather(Pending& pending) {
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
    static void count_request(LineCounts& line, uint32_t lanes, const uint64_t* addresses) {
        line.requests++;
        line.lanes += static_cast<uint64_t>(__builtin_popcount(lanes));
        line.bytes += static_cast<uint64_t>(count_bytes(lanes, addresses, line.size));
        if (line.is_shared) {
            Wavefronts found = count_wavefronts(lanes, addresses, line.size, ask_of(line));
            line.wavefronts += static_cast<uint64_t>(found.all);
            line.conflicts += static_cast<uint64_t>(found.conflicts);
        } else {
            line.sectors += static_cast<uint64_t>(count_sectors(lanes, addresses, ask_of(line)));
        }
    }

    size_t warps_;
    int warp_size_;
    std::vector<Known> known_;                                // by site
    std::vector<std::vector<std::vector<Pending>>> pending_;  // by slot, warp and index in `counts`
    std::unordered_map<uint64_t, uint32_t> index_of_;
};

}  // namespace emulator
