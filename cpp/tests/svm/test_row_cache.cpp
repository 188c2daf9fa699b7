// The cache of rows: its rows are right, and those just used stay.
#include <map>

#include "tests/checks.hpp"
#include "widemargin/kernel/packed_examples.hpp"
#include "widemargin/svm/row_cache.hpp"

namespace widemargin::tests {
namespace {

// The value of a row at the place of an example.
template <class T>
T value_of(std::int64_t id, std::int64_t example) {
    return static_cast<T>(1000 * id + example);
}

template <class T>
class CacheTest {
   public:
    CacheTest(std::size_t examples, std::size_t rows)
        : cache_(rows * rounded_to_blocks(examples) * sizeof(T), examples, sizeof(T)),
          examples_(examples) {
        reset();
    }
    void reset() {
        places_.resize(examples_);
        std::iota(places_.begin(), places_.end(), 0);
        cache_.reset(rounded_to_blocks(examples_));
        used_.clear();
    }
    bool claim(std::int64_t id, std::int64_t now) {
        T* row = static_cast<T*>(cache_.claim(id, now));
        if (!row) return false;
        for (std::size_t p = 0; p < rounded_to_blocks(places_.size()); ++p) {
            row[p] = p < places_.size() ? value_of<T>(id, places_[p]) : T{-1};
        }
        used_[id] = now;
        return true;
    }
    // Whether the cache has a row; checks that it is right.
    bool find(std::int64_t id, std::int64_t now) {
        const T* row = static_cast<const T*>(cache_.find(id, now));
        if (!row) return false;
        bool right = true;
        for (std::size_t p = 0; p < places_.size(); ++p) {
            right &= row[p] == value_of<T>(id, places_[p]);
        }
        CHECK(right, "row %d over %zu places", static_cast<int>(id), places_.size());
        used_[id] = now;
        return true;
    }
    void compact(const std::vector<std::size_t>& keep) {
        Order places;
        for (const std::size_t p : keep) places.push_back(places_[p]);
        places_ = places;
        cache_.compact(keep, rounded_to_blocks(keep.size()));
    }
    bool used_since(std::int64_t id, std::int64_t when) const {
        const auto at = used_.find(id);
        return at != used_.end() && at->second >= when;
    }
    std::size_t places() const { return places_.size(); }

   private:
    RowCache cache_;
    std::size_t examples_;
    Order places_;
    std::map<std::int64_t, std::int64_t> used_;  // when each claimed row was last used
};

template <class T>
void test_cache() {
    CacheTest<T> none(40, 0);
    CHECK(!none.claim(3, 0) && !none.find(3, 0), "no room");
    none.compact({1, 2, 5});
    CHECK(!none.claim(3, 0), "no room");

    CacheTest<T> cache(40, 3);  // rows of 48 places
    CHECK(cache.claim(7, 0) && cache.claim(39, 0) && cache.claim(0, 0), "three rows");
    CHECK(!cache.claim(1, 0) && !cache.claim(1, 1), "rows just used stay");
    CHECK(cache.find(39, 2), "a row that is used again");
    CHECK(cache.claim(1, 2) && cache.claim(2, 2) && !cache.claim(3, 2), "old rows go");
    CHECK(!cache.find(7, 2) && !cache.find(0, 2), "they are gone");
    CHECK(cache.find(1, 2) && cache.find(2, 2) && cache.find(39, 2), "the others are there");

    std::vector<std::size_t> keep;
    for (std::size_t p = 1; p < 40; p += 3) keep.push_back(p);
    cache.compact(keep);  // rows of 16 places: nine of them
    CHECK(cache.find(1, 2) && cache.find(2, 2) && cache.find(39, 2), "they were packed");
    for (const std::int64_t id : {10, 11, 12, 13, 14, 15}) CHECK(cache.claim(id, 2), "nine rows");
    CHECK(!cache.claim(16, 2), "nine rows");
    CHECK(cache.find(1, 2) && cache.find(2, 2) && cache.find(39, 2), "none was overwritten");

    cache.reset();
    for (const std::int64_t id : {1, 2, 39, 10, 15}) CHECK(!cache.find(id, 3), "forgotten");
    CHECK(cache.claim(2, 3) && cache.claim(1, 3) && cache.claim(4, 3) && !cache.claim(5, 3),
          "three rows");
}

// Random operations.
template <class T>
void test_cache_at_random(Random& random) {
    CacheTest<T> cache(90, 7);
    int found = 0;
    for (std::int64_t now = 0; now < 3000; ++now) {
        for (int work = 0; work < 4; ++work) {
            const auto id = static_cast<std::int64_t>(random.below(90) * random.below(90) / 90);
            const bool safe = cache.used_since(id, now - 1), there = cache.find(id, now);
            found += there;
            CHECK(there || !safe, "row %d was used an iteration ago", static_cast<int>(id));
            if (!there) cache.claim(id, now);
        }
        if (random.below(40) == 0 && cache.places() > 10) {
            std::vector<std::size_t> keep;
            for (std::size_t p = 0; p < cache.places(); ++p) {
                if (random.below(10) != 0) keep.push_back(p);
            }
            cache.compact(keep);
        }
        if (random.below(500) == 0) cache.reset();
    }
    CHECK(found > 1000, "%d rows found", found);
}

}  // namespace

void test_row_cache(Random& random) {
    test_cache<float>();
    test_cache<double>();
    test_cache_at_random<float>(random);
    test_cache_at_random<double>(random);
}

}  // namespace widemargin::tests
