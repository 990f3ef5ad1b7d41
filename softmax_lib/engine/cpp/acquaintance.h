// What up to 32 who meet now and then, the lanes of a warp or the warps of a block, know of each other.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "each_lane.h"

namespace engine {

// By number of the other: what that one did before this epoch is over.
typedef std::array<uint32_t, 32> Over;

inline void learn(Over& over, const Over& more) {
    for (size_t i = 0; i < over.size(); i++) over[i] = std::max(over[i], more[i]);
}

class Acquaintance {
public:
    // Those whose bits are set meet: each learns what any of them knows.
    void meet(uint32_t who, uint32_t epoch) {
        Over all{};
        for (unsigned i : EachLane{who}) {
            learn(all, of(i));
            all[i] = epoch;
        }
        for (unsigned i : EachLane{who}) of(i) = all;
    }
    bool is_over(int who, int other, uint32_t epoch) const {
        return !known_.empty() && epoch < known_[static_cast<size_t>(who)][static_cast<size_t>(other)];
    }
    bool is_any() const { return !known_.empty(); }
    Over& of(unsigned who) {
        if (known_.empty()) known_.resize(32);
        return known_[who];
    }

private:
    std::vector<Over> known_;   // empty while nobody has met
};

}  // namespace engine
