// Balanced partitions: an example goes to the expert it prefers among those that have room.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace widemargin {

struct Preferences {
    std::size_t count, experts;
    const double* scores;  // count x experts; of equal scores the first is preferred
};

// Step 4 of Algorithm 6.1: the examples in turn, each to the first expert of its sorted list that
// has room. `room` is how many more each expert takes, and is kept up to date. Returns how many
// examples have found a place: fewer than all if the room does not suffice.
inline std::size_t assign(const Preferences& preferences, std::int64_t* room,
                          std::int64_t* partition) {
    std::vector<std::size_t> open;
    for (std::size_t k = 0; k < preferences.experts; ++k) {
        if (room[k] > 0) open.push_back(k);
    }
    for (std::size_t l = 0; l < preferences.count; ++l) {
        if (open.empty()) return l;
        const double* scores = preferences.scores + l * preferences.experts;
        std::size_t best = open[0];
        for (const std::size_t k : open) {
            if (scores[k] > scores[best]) best = k;
        }
        partition[l] = static_cast<std::int64_t>(best);
        if (--room[best] == 0) open.erase(std::find(open.begin(), open.end(), best));
    }
    return preferences.count;
}

}  // namespace widemargin
