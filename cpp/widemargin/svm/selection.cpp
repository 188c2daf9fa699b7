// Step 1 of the decomposition algorithm: the choice of the working set.
#include <algorithm>
#include <numeric>

#include "widemargin/svm/decomposition.hpp"

namespace widemargin {
namespace {

// A working set is as large as its tile may be, but not larger than pays: each step of two
// variables reads two rows of the tile. With cached rows, iterations are cheap and may be many.
// Measured on the problems of the benchmarks.
constexpr std::size_t kMinSetExamples = 3072, kMinCachedSetExamples = 1024;
constexpr std::size_t kUsualSetExamples = 2048;  // or a third of the examples, if that is more
constexpr double kSetPerFreeVariable = 1.5;      // examples of the set per free variable

struct Candidate {
    double violation;
    std::size_t place;
    bool operator<(const Candidate& other) const {  // the worst comes first
        return violation > other.violation || (violation == other.violation && place < other.place);
    }
};

// Keeps the `most` worst candidates, sorted.
void keep_worst(std::vector<Candidate>& side, std::size_t most) {
    if (most < side.size()) {
        std::nth_element(side.begin(), side.begin() + static_cast<std::ptrdiff_t>(most),
                         side.end());
        side.resize(most);
    }
    std::sort(side.begin(), side.end());
}

}  // namespace

double Decomposition::Violation::middle(std::size_t g) const {
    if (top[g] == -kInfinity) return bottom[g] == kInfinity ? 0.0 : bottom[g];
    return bottom[g] == kInfinity ? top[g] : 0.5 * (top[g] + bottom[g]);
}

Decomposition::Violation Decomposition::measure_violation() const {
    Violation found{{-kInfinity, -kInfinity}, {kInfinity, kInfinity}, -kInfinity};
    for (std::size_t p = 0; p < active_; ++p) {
        if (x_.may_grow(p)) {
            double& top = found.top[x_.rising(p)];
            top = std::max(top, x_.upper(p));
        }
        if (x_.may_fall(p)) {
            double& bottom = found.bottom[x_.falling(p)];
            bottom = std::min(bottom, x_.lower(p));
        }
    }
    for (std::size_t g = 0; g < sums(); ++g) {
        found.worst = std::max(found.worst, found.top[g] - found.bottom[g]);
    }
    return found;
}

double Decomposition::bias() const {
    return sums() == 1 ? violation_.middle(0) : 0.5 * (violation_.middle(0) + violation_.middle(1));
}

void Decomposition::select() {
    violation_ = measure_violation();
    const bool spent = options_.max_steps >= 0 && steps_ >= options_.max_steps;
    if (violation_.worst > options_.tol && !spent) {
        choose_working_set();
        phase_ = Phase::solve;
    } else if (active_ == count_ || options_.shrinking == Shrinking::heuristic) {
        phase_ = Phase::done;
    } else {
        begin_rebuild();
    }
}

std::size_t Decomposition::next_size() const {
    if (options_.working_set) return std::min(active_, options_.working_set);
    std::size_t free = 0;
    for (std::size_t p = 0; p < active_; ++p) free += x_.is_free(p);
    const std::size_t least = cache_.bytes() > 0 ? kMinCachedSetExamples : kMinSetExamples;
    const std::size_t usual = std::max(kUsualSetExamples, count_ / 3);
    std::size_t size =
        std::max(least, static_cast<std::size_t>(kSetPerFreeVariable * static_cast<double>(free)));
    if (free <= usual) size = std::min(size, usual);
    size = std::min(size, largest_set_);
    return active_ < size + size / 4 ? std::min(active_, largest_set_) : size;
}

// Half of the set are the worst violators, of the upper and of the lower side: the steepest
// feasible direction (5.16). The other half stays from the last set, free variables first.
void Decomposition::choose_working_set() {
    const std::size_t size = next_size();
    if (size == active_) {
        if (!whole_set_) {
            std::vector<std::size_t> every(active_);
            std::iota(every.begin(), every.end(), std::size_t{0});
            set_.choose(std::move(every), x_);
            whole_set_ = true;
        }
        return;
    }
    whole_set_ = false;
    std::vector<Candidate> sides[2][2];  // for each sum: variables that may grow, and that may fall
    for (std::size_t p = 0; p < active_; ++p) {
        const std::size_t up = x_.rising(p), down = x_.falling(p);
        if (x_.may_grow(p) && x_.upper(p) > violation_.bottom[up]) {
            sides[up][0].push_back({x_.upper(p), p});
        }
        if (x_.may_fall(p) && x_.lower(p) < violation_.top[down]) {
            sides[down][1].push_back({-x_.lower(p), p});
        }
    }
    const bool first = set_.size() == 0;
    const std::size_t fresh = first || size == 2 ? size : size / 2;
    const std::size_t quota = std::max<std::size_t>(1, fresh / (2 * sums()));  // per side
    for (std::size_t g = 0; g < sums(); ++g) {
        for (auto& side : sides[g]) keep_worst(side, quota);
    }
    std::vector<std::size_t> places;
    std::vector<unsigned char> in_set(active_);
    const auto add = [&](std::size_t p) {
        if (in_set[p] || places.size() == size) return;
        in_set[p] = 1;
        places.push_back(p);
    };
    // the worst sum first: a set of two must hold its pair
    const std::size_t worst =
        sums() == 2 && violation_.top[1] - violation_.bottom[1] == violation_.worst;
    for (std::size_t k = 0; k < quota; ++k) {
        for (std::size_t turn = 0; turn < sums(); ++turn) {
            for (const auto& side : sides[turn == 0 ? worst : 1 - worst]) {
                if (k < side.size()) add(side[k].place);
            }
        }
    }
    if (size > 2) {
        for (const std::size_t p : set_.places()) {
            if (p < active_ && x_.is_free(p)) add(p);
        }
        for (const std::size_t p : set_.places()) {
            if (p < active_) add(p);
        }
    }
    std::sort(places.begin(), places.end());
    set_.choose(std::move(places), x_);
}

}  // namespace widemargin
