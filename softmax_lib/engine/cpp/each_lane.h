// Lanes as the bits of a word.
#pragma once
#include <cstdint>

namespace engine {

// From the lowest on: for (int lane : EachLane{lanes}) ...
struct EachLane {
    uint32_t left;

    EachLane begin() const { return *this; }
    EachLane end() const { return {0}; }
    bool operator!=(const EachLane& other) const { return left != other.left; }
    int operator*() const { return __builtin_ctz(left); }
    void operator++() { left &= left - 1; }
};

template <class F> uint32_t lanes_where(uint32_t lanes, F is_it) {
    uint32_t found = 0;
    for (int lane : EachLane{lanes}) found |= (is_it(lane) ? 1u : 0u) << lane;
    return found;
}

}  // namespace engine
