// The rules of counting.
#include "rules.h"

#include <algorithm>

namespace engine {

namespace {

constexpr int WARP_LANES = 32;

// Distinct numbers among a few; mostly they rise.
class Distinct {
public:
    void add(uint64_t number) {
        if (count_ && number == numbers_[count_ - 1]) return;
        if (count_ && number < numbers_[count_ - 1]) is_rising_ = false;
        numbers_[count_++] = number;
    }
    int count() {
        if (!is_rising_) {
            std::sort(numbers_, numbers_ + count_);
            count_ = static_cast<int>(std::unique(numbers_, numbers_ + count_) - numbers_);
            is_rising_ = true;
        }
        return count_;
    }
    const uint64_t* begin() const { return numbers_; }
    const uint64_t* end() const { return numbers_ + count_; }

private:
    uint64_t numbers_[128];
    int count_ = 0;
    bool is_rising_ = true;
};

int words_of(int bytes) { return bytes > BANK_BYTES ? bytes / BANK_BYTES : 1; }

// The most words that one bank has to give.
int count_passes(uint32_t lanes, const uint64_t* addresses, int words) {
    Distinct wanted;
    for (int lane : EachLane{lanes}) {
        for (int k = 0; k < words; k++) wanted.add(addresses[lane] / BANK_BYTES + static_cast<uint64_t>(k));
    }
    int count = wanted.count();
    if (wanted.begin()[count - 1] - wanted.begin()[0] < BANK_COUNT) return 1;  // each has a bank to itself
    uint8_t of_bank[BANK_COUNT] = {};
    int most = 0;
    for (uint64_t word : wanted) most = std::max<int>(most, ++of_bank[word % BANK_COUNT]);
    return most;
}

// Whether each lane and the one `apart` from it want the same, or one of the two is away.
bool in_pairs(uint32_t lanes, const uint64_t* addresses, int apart) {
    bool found = true;
    for (int lane : EachLane{lanes}) {
        int other = lane ^ apart;
        found = found && (!(lanes >> other & 1) || addresses[lane] == addresses[other]);
    }
    return found;
}

int count_atomic_sectors(uint32_t lanes, const uint64_t* addresses) {
    uint64_t sector_of[WARP_LANES] = {};
    int most_of[WARP_LANES] = {}, sectors = 0;
    for (int lane : EachLane{lanes}) {
        int wanted = 0, at = 0;
        for (int other : EachLane{lanes}) wanted += addresses[other] == addresses[lane];
        while (at < sectors && sector_of[at] != addresses[lane] / SECTOR_BYTES) at++;
        if (at == sectors) sector_of[sectors++] = addresses[lane] / SECTOR_BYTES;
        most_of[at] = std::max(most_of[at], wanted);
    }
    int all = 0;
    for (int at = 0; at < sectors; at++) all += most_of[at];
    return all;
}

Wavefronts count_changes(uint32_t lanes, const uint64_t* addresses, bool compares) {
    int of_bank[BANK_COUNT] = {}, most = 0;
    for (int lane : EachLane{lanes}) most = std::max(most, ++of_bank[addresses[lane] / BANK_BYTES % BANK_COUNT]);
    return {compares ? most + 1 : most, most - 1};
}

}  // namespace

int count_sectors(uint32_t lanes, const uint64_t* addresses, Ask ask) {
    if (is_atomic(ask)) return count_atomic_sectors(lanes, addresses);
    Distinct sectors;  // an access is aligned, so that it lies within one sector
    for (int lane : EachLane{lanes}) sectors.add(addresses[lane] / SECTOR_BYTES);
    return sectors.count();
}

int count_even_sectors(int lanes, uint64_t first, uint64_t by) {
    if (by >= SECTOR_BYTES) return lanes;
    uint64_t last = first + static_cast<uint64_t>(lanes - 1) * by;
    return static_cast<int>(last / SECTOR_BYTES - first / SECTOR_BYTES) + 1;
}

int count_even_wavefronts(int lanes, int bytes) {
    constexpr int line = static_cast<int>(LINE_BYTES);
    return (lanes * bytes + line - 1) / line;
}

int count_bypassing_sectors(uint32_t lanes, const uint64_t* addresses, const uint64_t* to) {
    Distinct pieces;
    for (int lane : EachLane{lanes}) pieces.add(addresses[lane] / LINE_BYTES << 32 | to[lane] / SECTOR_BYTES);
    return pieces.count();
}

int count_local_requests(int bytes) { return words_of(bytes); }

int count_local_sectors(uint32_t lanes, const uint64_t* addresses, int bytes) {
    int words = words_of(bytes);
    Distinct sectors;
    for (int lane : EachLane{lanes}) {
        for (int k = 0; k < words; k++) {
            uint64_t word = addresses[lane] / BANK_BYTES + static_cast<uint64_t>(k);
            sectors.add((word * 32 + static_cast<uint64_t>(lane)) * BANK_BYTES / SECTOR_BYTES);
        }
    }
    return sectors.count();
}

int count_lanes_together(uint32_t lanes, const uint64_t* addresses, int bytes, Ask ask) {
    int words = words_of(bytes), part = WARP_LANES / words;
    bool share = ask == Ask::LOAD && words > 1 && (in_pairs(lanes, addresses, 1) || in_pairs(lanes, addresses, 2));
    return share ? 2 * part : part;
}

Wavefronts count_wavefronts(uint32_t lanes, const uint64_t* addresses, int bytes, Ask ask) {
    if (ask == Ask::CHANGE || ask == Ask::COMPARE) return count_changes(lanes, addresses, ask == Ask::COMPARE);
    if (ask == Ask::COUNT) bytes = BANK_BYTES;
    int part = count_lanes_together(lanes, addresses, bytes, ask);
    Wavefronts found{0, 0};
    for (int first = 0; first < WARP_LANES; first += part) {
        uint32_t those = part == WARP_LANES ? lanes : lanes & ((1u << part) - 1) << first;
        if (!those) continue;
        int passes = count_passes(those, addresses, words_of(bytes));
        found.all += passes;
        found.conflicts += passes - 1;
    }
    return found;
}

int count_bytes(uint32_t lanes, const uint64_t* addresses, int bytes) {
    Distinct different;
    for (int lane : EachLane{lanes}) different.add(addresses[lane]);
    return different.count() * bytes;
}

}  // namespace engine
