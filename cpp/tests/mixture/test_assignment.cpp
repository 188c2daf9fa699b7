// Balanced partitions, against a sorted list of experts for each example as in the paper.
#include <algorithm>
#include <numeric>

#include "tests/linear/linear_problems.hpp"
#include "widemargin/mixture/assignment.hpp"

namespace widemargin::tests {

namespace {

// Each example goes to the first expert of its sorted list that has room; -1 where none has.
Order plain_assignment(const Doubles& scores, std::size_t experts, Order& room) {
    Order partition;
    for (std::size_t l = 0; l < scores.size() / experts; ++l) {
        const double* own = scores.data() + l * experts;
        std::vector<std::size_t> list(experts);
        std::iota(list.begin(), list.end(), std::size_t{0});
        std::stable_sort(list.begin(), list.end(),
                         [own](std::size_t a, std::size_t b) { return own[a] > own[b]; });
        const auto first =
            std::find_if(list.begin(), list.end(), [&room](std::size_t k) { return room[k] > 0; });
        partition.push_back(first == list.end() ? -1 : static_cast<std::int64_t>(*first));
        if (first != list.end()) --room[*first];
    }
    return partition;
}

void test_against_sorted_lists(Random& random) {
    for (const std::size_t experts : {1, 2, 3, 7}) {
        for (const std::size_t count : {0, 1, 5, 30, 101}) {
            for (const double levels : {1.0, 3.0, 1e9}) {  // of scores: all equal, some ties, none
                Doubles scores = random.vector(count * experts);
                for (double& score : scores) score = std::floor(levels * score);
                const auto most = static_cast<std::int64_t>(count / experts + 1);
                Order room(experts, most), expected_room = room, partition(count, -7);
                const std::size_t placed =
                    assign({count, experts, scores.data()}, room.data(), partition.data());
                const Order expected = plain_assignment(scores, experts, expected_room);
                CHECK(placed == count, "%zu of %zu", placed, count);
                CHECK(partition == expected, "%zu examples, %zu experts", count, experts);
                CHECK(room == expected_room, "%zu examples, %zu experts", count, experts);
            }
        }
    }
}

// Chunk by chunk with the same room, the partition is that of all examples at once.
void test_chunks(Random& random) {
    const std::size_t experts = 4, count = 50;
    const Doubles scores = random.vector(count * experts);
    Order whole_room(experts, 13), room = whole_room, whole(count), parts(count);
    assign({count, experts, scores.data()}, whole_room.data(), whole.data());
    for (std::size_t first = 0; first < count; first += 7) {
        const std::size_t rows = std::min<std::size_t>(7, count - first);
        assign({rows, experts, scores.data() + first * experts}, room.data(), parts.data() + first);
    }
    CHECK(parts == whole && room == whole_room, "chunks of 7");
}

void test_no_room(Random& random) {
    const Doubles scores = random.vector(10 * 3);
    Order room{2, 0, 1}, partition(10, -7);
    const std::size_t placed = assign({10, 3, scores.data()}, room.data(), partition.data());
    CHECK(placed == 3, "%zu found a place", placed);
    CHECK(room == Order(3, 0), "room is left");
    CHECK(std::count(partition.begin(), partition.end(), 1) == 0, "an expert without room");
    CHECK(std::count(partition.begin(), partition.end(), -7) == 7, "others were written");
    const Doubles low(3, -kInfinity);  // experts that the gater excludes still count
    room = {0, 1, 0};
    CHECK(assign({1, 3, low.data()}, room.data(), partition.data()) == 1 && partition[0] == 1,
          "expert %d", static_cast<int>(partition[0]));
}

}  // namespace

void test_assignment() {
    Random random(11);
    test_against_sorted_lists(random);
    test_chunks(random);
    test_no_room(random);
}

}  // namespace widemargin::tests
