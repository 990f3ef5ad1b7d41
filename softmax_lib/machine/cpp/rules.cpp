// The rules of counting.
#include "rules.h"

#include <algorithm>

namespace machine {

namespace {

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

template <class F> void for_each_lane(uint32_t lanes, F f) {
    for (; lanes; lanes &= lanes - 1) f(__builtin_ctz(lanes));
}

int words_of(int bytes) { return bytes > BANK_BYTES ? bytes / BANK_BYTES : 1; }

// The most words that one bank has to give.
int count_passes(uint32_t lanes, const uint64_t* addresses, int words) {
    Distinct wanted;
    for_each_lane(lanes, [&](int lane) {
        for (int k = 0; k < words; k++) wanted.add(addresses[lane] / BANK_BYTES + static_cast<uint64_t>(k));
    });
    wanted.count();
    uint8_t of_bank[BANK_COUNT] = {};
    int most = 0;
    for (uint64_t word : wanted) most = std::max<int>(most, ++of_bank[word % BANK_COUNT]);
    return most;
}

// Whether each lane and the one `apart` from it want the same, or one of the two is away.
bool in_pairs(uint32_t lanes, const uint64_t* addresses, int apart) {
    bool found = true;
    for_each_lane(lanes, [&](int lane) {
        int other = lane ^ apart;
        found = found && (!(lanes >> other & 1) || addresses[lane] == addresses[other]);
    });
    return found;
}

bool may_merge(uint32_t lanes, const uint64_t* addresses) {
    return in_pairs(lanes, addresses, 1) || in_pairs(lanes, addresses, 2);
}

}  // namespace

int count_sectors(uint32_t lanes, const uint64_t* addresses, int bytes) {
    Distinct sectors;  // an access is aligned, so that it lies within one sector
    (void)bytes;
    for_each_lane(lanes, [&](int lane) { sectors.add(addresses[lane] / SECTOR_BYTES); });
    return sectors.count();
}

int count_local_sectors(uint32_t lanes, const uint64_t* addresses, int bytes) {
    int words = words_of(bytes);
    Distinct sectors;
    for_each_lane(lanes, [&](int lane) {
        for (int k = 0; k < words; k++) {
            uint64_t word = addresses[lane] / BANK_BYTES + static_cast<uint64_t>(k);
            sectors.add((word * 32 + static_cast<uint64_t>(lane)) * BANK_BYTES / SECTOR_BYTES);
        }
    });
    return sectors.count();
}

int count_wavefronts(uint32_t lanes, const uint64_t* addresses, int bytes) {
    if (!lanes) return 0;
    int words = words_of(bytes);
    if (words == 1) return count_passes(lanes, addresses, 1);
    int group = 32 / words, merged = words == 2 ? 32 : 16, total = 0;
    for (int start = 0; start < 32; start += merged) {
        uint32_t those = merged == 32 ? lanes : lanes & 0xffffu << start;
        if (!those) continue;
        if (may_merge(those, addresses)) {
            total += count_passes(those, addresses, words);
            continue;
        }
        for (int first = start; first < start + merged; first += group) {
            uint32_t part = those & ((1u << group) - 1) << first;
            if (part) total += count_passes(part, addresses, words);
        }
    }
    return total;
}

int count_ideal_wavefronts(uint32_t lanes, int bytes) {
    int asked = __builtin_popcount(lanes) * bytes, pass = BANK_COUNT * BANK_BYTES;
    return (asked + pass - 1) / pass;
}

int count_bytes(uint32_t lanes, const uint64_t* addresses, int bytes) {
    Distinct different;
    for_each_lane(lanes, [&](int lane) { different.add(addresses[lane]); });
    return different.count() * bytes;
}

}  // namespace machine
