// The decomposition algorithm and its parts, on the instruction set that WIDEMARGIN_ISA names (77:
// this CPU has no such set), against plain steps of two variables.
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>

#include "checks.hpp"
#include "widemargin/decomposition.hpp"

namespace {

using namespace widemargin;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

std::size_t rounded(std::size_t n) {
    return (n + kBlock - 1) / kBlock * kBlock;
}

bool near(double a, double b, double tolerance) {
    return std::fabs(a - b) <= tolerance * (1.0 + std::fabs(b));
}

// --------------------------------------------------------------------------------- problems

enum class Task { classification, regression, one_class, nu_classification, nu_regression };
constexpr Task tasks[] = {Task::classification, Task::regression, Task::one_class,
                          Task::nu_classification, Task::nu_regression};
const char* name_of(Task task) {
    static const char* names[] = {"classification", "regression", "one class", "nu-classification",
                                  "nu-regression"};
    return names[static_cast<int>(task)];
}

// See decomposition.hpp; y is a sign, or a number. Some variables have no room at all.
Variables make_variables(Random& random, Task task, const Doubles& y) {
    const std::size_t n = y.size();
    Variables x;
    x.two_sums = task == Task::nu_classification || task == Task::nu_regression;
    double sum[2] = {0.3 * static_cast<double>(n) / 2.0, 0.3 * static_cast<double>(n) / 2.0};
    for (std::size_t l = 0; l < n; ++l) {
        const double bound = l % 11 == 7 ? 0.0 : l % 3 == 0 ? 0.5 : 1.5 + random.uniform();
        const bool up = task == Task::one_class || task == Task::regression ||
                        task == Task::nu_regression || y[l] > 0.0;
        const bool down = task == Task::regression || task == Task::nu_regression ||
                          (task != Task::one_class && y[l] <= 0.0);
        x.hi.push_back(up ? bound : 0.0);
        x.lo.push_back(down ? -bound : 0.0);
        const bool linear =
            task == Task::classification || task == Task::regression || task == Task::nu_regression;
        const double tube = task == Task::regression ? 0.1 : 0.0;
        x.above.push_back((linear ? -y[l] : 0.0) + tube);
        x.below.push_back((linear ? -y[l] : 0.0) - tube);

        // the sums that a solution has: as much as there is room for, from the first on
        double beta = 0.0;
        if (task == Task::one_class || x.two_sums) {
            const std::size_t g = up && down ? l % 2 : !up;
            const double part = std::min(bound, sum[g]);
            sum[g] -= part;
            beta = g == 0 ? part : -part;
        }
        x.beta.push_back(beta);
    }
    x.id.resize(n);
    std::iota(x.id.begin(), x.id.end(), 0);
    x.f.assign(n, 0.0);
    return x;
}

// f = K beta, J, and the violation, from the definitions.
struct Point {
    Doubles f;
    double cost, violation;
};
Point look(const Variables& x, const Doubles& k, const Doubles& beta) {
    const std::size_t n = beta.size();
    Point point{Doubles(n), 0.0, -infinity};
    double top[2] = {-infinity, -infinity}, bottom[2] = {infinity, infinity};
    for (std::size_t a = 0; a < n; ++a) {
        double f = 0.0;
        for (std::size_t b = 0; b < n; ++b) f += k[a * n + b] * beta[b];
        point.f[a] = f;
        const double rise = beta[a] < 0.0 ? x.below[a] : x.above[a];
        const double fall = beta[a] > 0.0 ? x.above[a] : x.below[a];
        point.cost += beta[a] * (0.5 * f + (beta[a] > 0.0 ? x.above[a] : x.below[a]));
        const std::size_t up = x.two_sums && beta[a] < 0.0, down = x.two_sums && beta[a] <= 0.0;
        if (beta[a] < x.hi[a]) top[up] = std::max(top[up], -f - rise);
        if (beta[a] > x.lo[a]) bottom[down] = std::min(bottom[down], -f - fall);
    }
    for (std::size_t g = 0; g < 2; ++g) {
        point.violation = std::max(point.violation, top[g] - bottom[g]);
    }
    return point;
}

// Steps of the two variables that violate most, until no two do by more than tol.
Doubles plain_solve(const Variables& x, const Doubles& k, double tol) {
    const std::size_t n = x.beta.size();
    Doubles beta = x.beta, f = look(x, k, beta).f;
    for (int step = 0; step < 1000000; ++step) {
        double most = tol;
        std::size_t i = n, j = n;
        for (std::size_t g = 0; g < 2; ++g) {
            double top = -infinity, bottom = infinity;
            std::size_t at_top = n, at_bottom = n;
            for (std::size_t a = 0; a < n; ++a) {
                const double u = -f[a] - (beta[a] < 0.0 ? x.below[a] : x.above[a]);
                const double w = -f[a] - (beta[a] > 0.0 ? x.above[a] : x.below[a]);
                const std::size_t up = x.two_sums && beta[a] < 0.0;
                const std::size_t down = x.two_sums && beta[a] <= 0.0;
                if (up == g && beta[a] < x.hi[a] && u > top) top = u, at_top = a;
                if (down == g && beta[a] > x.lo[a] && w < bottom) bottom = w, at_bottom = a;
            }
            if (top - bottom > most) most = top - bottom, i = at_top, j = at_bottom;
        }
        if (i == n) break;
        const double end_i = beta[i] < 0.0 ? std::min(0.0, x.hi[i]) : x.hi[i];
        const double end_j = beta[j] > 0.0 ? std::max(0.0, x.lo[j]) : x.lo[j];
        const double a = std::max(1e-12, k[i * n + i] + k[j * n + j] - 2.0 * k[i * n + j]);
        const double t = std::min({most / a, end_i - beta[i], beta[j] - end_j});
        beta[i] = t == end_i - beta[i] ? end_i : beta[i] + t;
        beta[j] = t == beta[j] - end_j ? end_j : beta[j] - t;
        for (std::size_t l = 0; l < n; ++l) f[l] += t * (k[l * n + i] - k[l * n + j]);
    }
    return beta;
}

// beta is within its bounds and at them exactly, and its sums are those at the start.
void check_feasible(const Variables& x, const Doubles& beta, const char* text) {
    double before[2] = {}, after[2] = {};
    for (std::size_t a = 0; a < beta.size(); ++a) {
        CHECK(x.lo[a] <= beta[a] && beta[a] <= x.hi[a], "%s: beta %zu = %.17g", text, a, beta[a]);
        for (const double end : {x.lo[a], 0.0, x.hi[a]}) {
            CHECK(beta[a] == end || std::fabs(beta[a] - end) > 1e-14, "%s: beta %zu = %.17g", text,
                  a, beta[a]);
        }
        before[x.two_sums && x.beta[a] < 0.0] += x.beta[a];
        after[x.two_sums && beta[a] < 0.0] += beta[a];
    }
    for (std::size_t g = 0; g < 2; ++g) {
        CHECK(near(after[g], before[g], 1e-12), "%s: sum %.17g, not %.17g", text, after[g],
              before[g]);
    }
}

// ----------------------------------------------------------------------------- pairs of two

// A tile whose rows are NaN until they are asked for.
template <class T>
struct TestTile {
    const Doubles& k;
    std::size_t n, stride;
    std::vector<T> values;
    std::vector<unsigned char> ready;
    int fetched = 0;

    TestTile(const Doubles& k, std::size_t n)
        : k(k),
          n(n),
          stride((n + kTileStep - 1) / kTileStep * kTileStep),
          values(n * stride, static_cast<T>(nan)),
          ready(n) {
        for (std::size_t a = 0; a < n; a += 3) add(a);
    }
    void add(std::size_t a) {
        for (std::size_t b = 0; b < stride; ++b) {
            values[a * stride + b] = b < n ? static_cast<T>(k[a * n + b]) : T{7};
        }
        ready[a] = 1;
    }
    static void fetch(void* self, std::size_t a) {
        auto& tile = *static_cast<TestTile*>(self);
        CHECK(a < tile.n && !tile.ready[a], "row %zu", a);
        ++tile.fetched;
        tile.add(a);
    }
};

template <class T>
SubSolution solve_pairs(const Variables& x, const Doubles& k, double tol, std::int64_t max_steps,
                        Doubles& beta) {
    const std::size_t n = beta.size();
    TestTile<T> tile(k, n);
    Doubles v = look(x, k, beta).f, diagonal(n);
    for (std::size_t a = 0; a < n; ++a) {
        v[a] = 0.25 - v[a];
        diagonal[a] = k[a * n + a];
    }
    return kernels().solve_pairs({sizeof(T) == 8, tile.values.data(), tile.ready.data(),
                                  &TestTile<T>::fetch, &tile, n, tile.stride, x.two_sums, v.data(),
                                  x.above.data(), x.below.data(), diagonal.data(), beta.data(),
                                  x.lo.data(), x.hi.data(), tol, max_steps});
}

// Points in the plane; every fifth is the one before it again.
Doubles random_points(Random& random, std::size_t n) {
    Doubles x = random.vector(2 * n);
    for (std::size_t l = 5; l < n; l += 5) {
        x[2 * l] = x[2 * l - 2];
        x[2 * l + 1] = x[2 * l - 1];
    }
    return x;
}

Doubles plain_rbf(const Doubles& x, double gamma) {
    const std::size_t n = x.size() / 2;
    Doubles k(n * n);
    for (std::size_t a = 0; a < n; ++a) {
        for (std::size_t b = 0; b < n; ++b) {
            const double dx = x[2 * a] - x[2 * b], dy = x[2 * a + 1] - x[2 * b + 1];
            k[a * n + b] = static_cast<float>(std::exp(-gamma * (dx * dx + dy * dy)));
        }
    }
    return k;
}

// Equal examples have different targets: they pull until one of them is at a bound.
Doubles random_targets(Random& random, Task task, std::size_t n) {
    Doubles y = random.vector(n);
    const bool signs = task == Task::classification || task == Task::nu_classification;
    for (std::size_t l = 0; signs && l < n; ++l) y[l] = y[l] > 0.0 ? 1.0 : -1.0;
    for (std::size_t l = 5; l < n; l += 5) y[l] = -y[l - 1];
    return y;
}

template <class T>
void check_pairs(const Variables& x, const Doubles& k, Task task, const char* text) {
    constexpr bool wide = sizeof(T) == 8;
    const double tol = wide ? 1e-7 : 1e-4;
    Doubles beta = x.beta;
    const SubSolution solution = solve_pairs<T>(x, k, tol, 200000, beta);
    check_feasible(x, beta, text);
    const Point point = look(x, k, beta);
    CHECK(solution.violation <= tol && point.violation <= tol + (wide ? 1e-9 : 1e-4),
          "%s: violation %g, in truth %g after %lld steps", text, solution.violation,
          point.violation, static_cast<long long>(solution.steps));
    // Sums of positive and of negative variables may have several minima if signs can change.
    if (task == Task::nu_regression) return;
    const Point best = look(x, k, plain_solve(x, k, 1e-9));
    CHECK(near(point.cost, best.cost, wide ? 1e-9 : 1e-5), "%s: cost %.12g, not %.12g", text,
          point.cost, best.cost);
}

void test_pairs(Random& random) {
    for (const Task task : tasks) {
        for (const std::size_t n : {1, 2, 3, 17, 64, 65, 100}) {
            const Doubles k = plain_rbf(random_points(random, n), 30.0);
            const Variables x = make_variables(random, task, random_targets(random, task, n));
            const std::string text = std::string(name_of(task)) + " of " + std::to_string(n);
            check_pairs<float>(x, k, task, (text + ", float").c_str());
            check_pairs<double>(x, k, task, (text + ", double").c_str());
        }
    }
}

// Every step decreases J; no more steps than allowed are made.
void test_number_of_steps(Random& random) {
    const std::size_t n = 40;
    const Doubles k = plain_rbf(random_points(random, n), 30.0);
    for (const Task task : tasks) {
        const Variables x = make_variables(random, task, random_targets(random, task, n));
        double cost = look(x, k, x.beta).cost;
        for (std::int64_t most = 0; most < 30; ++most) {
            Doubles beta = x.beta;
            const SubSolution solution = solve_pairs<double>(x, k, 1e-3, most, beta);
            CHECK(solution.steps == most || solution.violation <= 1e-3, "%s: %d steps",
                  name_of(task), static_cast<int>(solution.steps));
            CHECK(most > 0 || beta == x.beta, "%s: a step", name_of(task));
            const double now = look(x, k, beta).cost;
            CHECK(now <= cost + 1e-14, "%s: step %d from %.17g to %.17g", name_of(task),
                  static_cast<int>(most), cost, now);
            cost = now;
        }
    }
}

// The same point twice, with targets 1 and -1, and a third far away: a = 0.
void test_equal_examples() {
    const Doubles k = {1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0};
    Variables x;
    x.beta = {0.0, 0.0, 0.0};
    x.hi = {1.5, 0.0, 0.0};
    x.lo = {0.0, -1.25, 0.0};
    x.above = x.below = {-1.0, 1.0, 1.0};
    x.f.assign(3, 0.0);
    Doubles beta = x.beta;
    const SubSolution solution = solve_pairs<float>(x, k, 1e-3, 100, beta);
    CHECK(beta == (Doubles{1.25, -1.25, 0.0}) && solution.steps == 1, "%g %g %g in %d steps",
          beta[0], beta[1], beta[2], static_cast<int>(solution.steps));
}

// ------------------------------------------------------------------------------------ cache

// What a row of the cache has at the place of an example.
template <class T>
T value_of(std::int64_t id, std::int64_t example) {
    return static_cast<T>(1000 * id + example);
}

template <class T>
class CacheTest {
   public:
    CacheTest(std::size_t examples, std::size_t rows)
        : cache_(rows * rounded(examples) * sizeof(T), examples, sizeof(T)), examples_(examples) {
        reset();
    }
    void reset() {
        places_.resize(examples_);
        std::iota(places_.begin(), places_.end(), 0);
        cache_.reset(rounded(examples_));
        used_.clear();
    }
    bool claim(std::int64_t id, std::int64_t now) {
        T* row = static_cast<T*>(cache_.claim(id, now));
        if (!row) return false;
        for (std::size_t p = 0; p < rounded(places_.size()); ++p) {
            row[p] = p < places_.size() ? value_of<T>(id, places_[p]) : T{-1};
        }
        used_[id] = now;
        return true;
    }
    // Whether a row is there; then it is right.
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
        cache_.compact(keep, rounded(keep.size()));
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
    std::map<std::int64_t, std::int64_t> used_;  // the rows ever claimed, and when last used
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

// Anything in any order.
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

// ------------------------------------------------------------------------------------ parts

std::shared_ptr<const PackedExamples> pack(const Doubles& x, std::size_t width,
                                           const KernelFunction& kernel, bool wide) {
    const Rows rows{Layout::dense64, x.data(), nullptr, nullptr, x.size() / width, width};
    Order every(rows.count);
    std::iota(every.begin(), every.end(), 0);
    const Selection all{&rows, every.data(), every.size()};
    return std::make_shared<PackedExamples>(all, choose_encoding(kernel, {all}, wide));
}

void test_parts(Random& random) {
    Doubles x = random.vector(2 * 203);
    for (std::size_t l = 0; l < 203; ++l) x[2 * l] += l % 2 ? 40.0 : 0.0;
    for (const double gamma : {1.0, 1e-6}) {
        const KernelFunction rbf{KernelName::rbf, gamma, 0.0, 0};
        const ComputedKernel kernel(rbf, pack(x, 2, rbf, false));
        for (const std::size_t most : {203, 102, 30, 1}) {
            Parts parts = one_part(203);
            while (halve_next(*kernel.affinity(), most, 1, parts)) {
            }
            CHECK(parts.done == 203 && parts.open.empty(), "parts of %zu", most);
            std::vector<int> seen(203);
            for (const std::int64_t id : parts.order) ++seen.at(static_cast<std::size_t>(id));
            CHECK(seen == std::vector<int>(203, 1), "parts of %zu", most);
            std::size_t begin = 0, least = 203;
            for (const std::size_t end : parts.ends) {
                least = std::min(least, end - begin);
                CHECK(end - begin <= most, "a part of %zu", end - begin);
                begin = end;
            }
            CHECK(begin == 203 && 2 * (least + 1) > most, "the least of %zu has %zu", most, least);
            for (std::size_t i = 0; most == 102 && i < parts.ends[0]; ++i) {
                CHECK(parts.order[i] % 2 == parts.order[0] % 2, "both sides in one part");
            }
            const std::size_t enough = gamma == 1.0 ? 30 : 102;
            CHECK(parts_stand_alone(kernel, parts, 1) == (most >= enough), "gamma %g, parts of %zu",
                  gamma, most);
        }
    }
}

// ---------------------------------------------------------------------------- decomposition

// A kernel, its matrix as doubles, and a problem.
struct Machine {
    std::shared_ptr<const KernelSource> kernel;
    Doubles k;
    Task task;
    Variables start;
    std::string text;
};

Doubles matrix_of(const KernelSource& kernel) {
    const std::size_t n = kernel.count();
    Order every(n);
    std::iota(every.begin(), every.end(), 0);
    Doubles k(n * n);
    const auto frame = kernel.frame(nullptr, n);
    for (std::size_t a = 0; a < n; ++a) {
        Doubles f(rounded(n), 0.0);
        const double one = 1.0;
        kernel.rows(&every[a], 1, *frame,
                    {0, rounded(n) / kBlock, 1, &one, f.data(), f.size(), nullptr, 1});
        std::copy_n(f.begin(), n, k.begin() + static_cast<std::ptrdiff_t>(a * n));
    }
    return k;
}

enum class Source { floats, doubles, given };

// Examples of 80 inputs, so that a row is worth keeping, of which two matter.
Machine make_machine(Random& random, Task task, Source source, std::size_t n) {
    const std::size_t width = 80;
    const Doubles points = random_points(random, n);
    Doubles x(n * width);
    for (std::size_t l = 0; l < n; ++l) {
        for (std::size_t j = 0; j < width; ++j) {
            x[l * width + j] =
                points[2 * l + j % 2] + (l % 5 == 0 && l > 0 ? 0.0 : 0.1 * random.centred());
        }
    }
    const KernelFunction rbf{KernelName::rbf, 0.6, 0.0, 0};
    const auto computed =
        std::make_shared<ComputedKernel>(rbf, pack(x, width, rbf, source != Source::floats));
    Machine machine{computed, matrix_of(*computed), task,
                    make_variables(random, task, random_targets(random, task, n)), name_of(task)};
    if (source == Source::given) {
        const Doubles& k = machine.k;
        machine.kernel = std::make_shared<GivenKernel>(
            n, Doubles(n, 1.0), [k, n](const std::int64_t* ids, std::size_t rows, double* out) {
                for (std::size_t r = 0; r < rows; ++r) {
                    std::copy_n(k.begin() + ids[r] * static_cast<std::int64_t>(n), n, out + r * n);
                }
            });
    }
    const char* sources[] = {" in float", " in double", ", given"};
    machine.text += sources[static_cast<int>(source)];
    return machine;
}

struct Result {
    DecompositionProgress progress;
    Doubles beta, f;
    Point point;
};

// The state of a solver; where it says that f is known, it is.
Result result_of(const Machine& machine, const Decomposition& solver,
                 const DecompositionProgress& progress, const char* text) {
    const std::size_t n = machine.kernel->count();
    Result result{progress, Doubles(n), Doubles(n), {}};
    solver.state(result.beta.data(), result.f.data());
    check_feasible(machine.start, result.beta, text);
    result.point = look(machine.start, machine.k, result.beta);
    CHECK(near(progress.cost, result.point.cost, 1e-10), "%s: cost %.12g, in truth %.12g", text,
          progress.cost, result.point.cost);
    if (!progress.complete) return result;
    CHECK(progress.active == n, "%s: %zu active", text, progress.active);
    for (std::size_t l = 0; l < n; ++l) {
        CHECK(near(result.f[l], result.point.f[l], 1e-10), "%s: f %zu = %.12g, in truth %.12g",
              text, l, result.f[l], result.point.f[l]);
    }
    CHECK(near(progress.violation, result.point.violation, 1e-9),
          "%s: violation %.12g, in truth %.12g", text, progress.violation, result.point.violation);
    return result;
}

// A solution on the full set, as good as that of plain steps.
void check_solution(const Machine& machine, const Result& result, double tol, double cost,
                    const char* text) {
    CHECK(result.progress.done && result.progress.complete, "%s: not done", text);
    CHECK(result.point.violation <= tol + 1e-9, "%s: violation %g", text, result.point.violation);
    if (machine.task == Task::nu_regression) return;
    CHECK(near(result.point.cost, cost, 1e-6), "%s: cost %.12g, not %.12g", text, result.point.cost,
          cost);
}

constexpr double tol = 1e-5;
constexpr Shrinking shrinkings[] = {Shrinking::never, Shrinking::checked, Shrinking::heuristic};

// Every size of the working set, way to shrink, and size of the cache: none, some rows, all.
void test_decomposition(Random& random, Source source) {
    bool shrunk = false, cached = false, evicted = false;
    for (const Task task : tasks) {
        const std::size_t n = 50;
        const Machine machine = make_machine(random, task, source, n);
        const double cost =
            look(machine.start, machine.k, plain_solve(machine.start, machine.k, 1e-8)).cost;
        const std::size_t bytes = n * n * machine.kernel->value_bytes();
        for (const std::size_t working_set : {0, 2, 4, 16}) {
            if (source == Source::doubles && working_set != 16) continue;  // as the given ones
            for (const Shrinking shrinking : shrinkings) {
                for (const std::size_t cache_bytes : {std::size_t{0}, bytes / 9, 2 * bytes}) {
                    const std::string text = machine.text + ", set of " +
                                             std::to_string(working_set) + ", shrinking " +
                                             std::to_string(static_cast<int>(shrinking)) + ", " +
                                             std::to_string(cache_bytes) + " bytes";
                    Decomposition solver(machine.kernel, machine.start,
                                         {working_set, shrinking, tol, cache_bytes, -1, 1});
                    DecompositionProgress progress = solver.run(60.0);
                    CHECK(progress.done, "%s: not done", text.c_str());
                    shrunk |= !progress.complete;
                    cached |= progress.rows_cached > 0;
                    evicted |= cache_bytes == bytes / 9 && progress.rows_cached > 0 &&
                               progress.rows_wanted - progress.rows_cached > 50;
                    if (!progress.complete) {
                        CHECK(shrinking == Shrinking::heuristic, "%s: incomplete", text.c_str());
                        solver.measure(60.0);
                        progress = solver.run(60.0);  // once more, now that f is known
                        while (!progress.complete) {
                            solver.measure(60.0);
                            progress = solver.run(60.0);
                        }
                    }
                    check_solution(machine, result_of(machine, solver, progress, text.c_str()), tol,
                                   cost, text.c_str());
                }
            }
        }
    }
    CHECK(shrunk && cached && evicted, "%d %d %d", shrunk, cached, evicted);
}

// Another kernel, a block of examples at a time, so that every update takes many slices.
class InBlocks final : public KernelSource {
   public:
    explicit InBlocks(std::shared_ptr<const KernelSource> kernel,
                      std::shared_ptr<const KernelSource> affinity = nullptr)
        : kernel_(std::move(kernel)), affinity_(std::move(affinity)) {}

    std::size_t count() const override { return kernel_->count(); }
    bool wide() const override { return kernel_->wide(); }
    double cost() const override { return kernel_->cost(); }
    std::size_t examples_at_once(std::size_t) const override { return kBlock; }
    std::size_t rows_at_once() const override { return kernel_->rows_at_once(); }
    std::unique_ptr<Frame> frame(const std::int64_t* ids, std::size_t n) const override {
        return kernel_->frame(ids, n);
    }
    void rows(const std::int64_t* ids, std::size_t n, const Frame& frame,
              const RowUse& use) const override {
        kernel_->rows(ids, n, frame, use);
    }
    void diagonal(double* out) const override { kernel_->diagonal(out); }
    std::shared_ptr<const KernelSource> affinity() const override { return affinity_; }

   private:
    std::shared_ptr<const KernelSource> kernel_, affinity_;
};

// In the smallest slices, with a look now and then.
void test_slices(Random& random) {
    for (const Source source : {Source::floats, Source::given}) {
        for (const Task task : tasks) {
            const std::size_t n = 70;
            Machine machine = make_machine(random, task, source, n);
            machine.kernel = std::make_shared<InBlocks>(machine.kernel);
            const double cost =
                look(machine.start, machine.k, plain_solve(machine.start, machine.k, 1e-8)).cost;
            for (const std::size_t working_set : {2, 8}) {
                const std::string text =
                    machine.text + " in slices, set of " + std::to_string(working_set);
                Decomposition solver(machine.kernel, machine.start,
                                     {working_set, Shrinking::checked, tol,
                                      n * n * machine.kernel->value_bytes() / 4, -1, 1});
                DecompositionProgress progress{};
                int slices = 0, incomplete = 0;
                for (; !progress.done && slices < 200000; ++slices) {
                    progress = solver.run(0.0);
                    incomplete += slices > 10 && !progress.complete;
                    if (slices % 199 != 17) continue;
                    do {
                        progress = solver.measure(0.0);
                    } while (!progress.complete);
                    result_of(machine, solver, progress, text.c_str());
                }
                CHECK(incomplete > 0, "%s: nothing was shrunk in %d slices", text.c_str(), slices);
                check_solution(machine, result_of(machine, solver, progress, text.c_str()), tol,
                               cost, text.c_str());
                const DecompositionProgress again = solver.run(0.0);
                CHECK(again.done && again.steps == progress.steps, "%s: run again", text.c_str());
            }
        }
    }
}

void test_max_steps(Random& random) {
    const Machine machine = make_machine(random, Task::classification, Source::floats, 60);
    for (const std::size_t working_set : {0, 2, 8}) {
        for (const std::int64_t most : {0, 1, 7, 60}) {
            const std::string text =
                "at most " + std::to_string(most) + " steps, set of " + std::to_string(working_set);
            Decomposition solver(machine.kernel, machine.start,
                                 {working_set, Shrinking::checked, tol, 100000, most, 1});
            const Result result = result_of(machine, solver, solver.run(60.0), text.c_str());
            CHECK(result.progress.done && result.progress.complete, "%s: not done", text.c_str());
            CHECK(result.progress.steps == most, "%s: %d steps", text.c_str(),
                  static_cast<int>(result.progress.steps));
            CHECK(most > 0 || result.beta == machine.start.beta, "%s: moved", text.c_str());
        }
    }
}

// It starts at a solution: nothing is left to do. Or there is nothing to do at all.
void test_nothing_to_do(Random& random) {
    Machine machine = make_machine(random, Task::regression, Source::doubles, 50);
    machine.start.beta = plain_solve(machine.start, machine.k, 1e-9);
    Decomposition solver(machine.kernel, machine.start,
                         {0, Shrinking::checked, tol, 100000, -1, 1});
    const Result result = result_of(machine, solver, solver.run(60.0), "from a solution");
    CHECK(result.progress.done && result.progress.steps == 0, "%d steps",
          static_cast<int>(result.progress.steps));
    CHECK(result.beta == machine.start.beta, "moved");

    machine = make_machine(random, Task::classification, Source::doubles, 1);
    Decomposition one(machine.kernel, machine.start, {0, Shrinking::checked, tol, 0, -1, 1});
    CHECK(one.run(60.0).done && one.measure(60.0).steps == 0, "one example");
}

// ------------------------------------------------------------------------ divide and conquer

// Points in eight parts.
struct Divided {
    static constexpr std::size_t n = 8200, bytes = 2048 * 2048 * sizeof(float);
    std::shared_ptr<const KernelSource> kernel;
    Variables start;

    Divided(Random& random, const Doubles& x, double gamma) {
        Doubles y(n);
        for (std::size_t l = 0; l < n; ++l) {
            y[l] = std::sin(3.0 * x[2 * l]) * std::sin(3.0 * x[2 * l + 1]) > 0.0 ? 1.0 : -1.0;
        }
        const KernelFunction rbf{KernelName::rbf, gamma, 0.0, 0};
        kernel = std::make_shared<ComputedKernel>(rbf, pack(x, 2, rbf, false));
        start = make_variables(random, Task::classification, y);
    }
    Decomposition solver(std::size_t working_set, std::int64_t max_steps, int threads) const {
        return Decomposition(
            kernel, start,
            {working_set, Shrinking::checked, 1e-3, bytes * static_cast<std::size_t>(threads),
             max_steps, threads, n / 2});
    }
    // f is what beta says, over all examples.
    void check(const Decomposition& solver, const DecompositionProgress& progress,
               const char* text) const {
        Doubles beta(n), f(n), truth(rounded(n), 0.0);
        solver.state(beta.data(), f.data());
        check_feasible(start, beta, text);
        CHECK(progress.complete, "%s: not complete", text);
        Order rows;
        Doubles coef;
        for (std::size_t l = 0; l < n; ++l) {
            if (beta[l] == 0.0) continue;
            rows.push_back(static_cast<std::int64_t>(l));
            coef.push_back(beta[l]);
        }
        const auto frame = kernel->frame(nullptr, n);
        kernel->rows(
            rows.data(), rows.size(), *frame,
            {0, rounded(n) / kBlock, 1, coef.data(), truth.data(), truth.size(), nullptr, 1});
        double cost = 0.0, top = -infinity, bottom = infinity;
        for (std::size_t l = 0; l < n; ++l) {
            CHECK(near(f[l], truth[l], 1e-9), "%s: f %zu", text, l);
            const double v = -truth[l] - start.above[l];
            cost += beta[l] * (0.5 * truth[l] + start.above[l]);
            if (beta[l] < start.hi[l]) top = std::max(top, v);
            if (beta[l] > start.lo[l]) bottom = std::min(bottom, v);
        }
        CHECK(near(progress.cost, cost, 1e-9), "%s: cost %.12g, in truth %.12g", text,
              progress.cost, cost);
        CHECK(near(progress.violation, top - bottom, 1e-9), "%s: violation %g, in truth %g", text,
              progress.violation, top - bottom);
    }
};

void test_divide(Random& random) {
    const Divided problem(random, random.vector(2 * Divided::n), 30.0);
    Decomposition plain = problem.solver(1024, -1, 1);
    const DecompositionProgress whole = plain.run(60.0);
    problem.check(plain, whole, "not divided");

    for (const int threads : {1, 2}) {
        Decomposition solver = problem.solver(0, -1, threads);
        DecompositionProgress progress = solver.run(0.0);
        CHECK(!progress.complete && progress.iterations == 0, "it was not divided");
        for (int slices = 0; !progress.done && slices < 1000; ++slices) progress = solver.run(0.0);
        CHECK(progress.done && progress.violation <= 1e-3, "violation %g", progress.violation);
        problem.check(solver, progress, "divided");
        CHECK(near(progress.cost, whole.cost, 1e-6), "cost %.12g, not %.12g", progress.cost,
              whole.cost);
    }

    // measured in the middle: of the halving, and of the parts
    for (const int slices : {1, 10}) {
        Decomposition early = problem.solver(0, -1, 1);
        for (int slice = 0; slice < slices; ++slice) early.run(0.0);
        CHECK(early.run(0.0).active == 0, "%d slices are too many", slices);
        problem.check(early, early.measure(60.0), "measured early");
    }
    for (const std::int64_t most : {0, 50, 301}) {
        Decomposition few = problem.solver(0, most, 1);
        const DecompositionProgress progress = few.run(60.0);
        CHECK(progress.done && progress.steps <= most, "%d steps, not %d",
              static_cast<int>(progress.steps), static_cast<int>(most));
        problem.check(few, progress, "divided, with few steps");
    }
}

// Every point four times, and parts that know nothing of it: their solutions add up to too much.
void test_divided_badly(Random& random) {
    Doubles x = random.vector(2 * Divided::n);
    const std::size_t distinct = Divided::n / 4;
    for (std::size_t i = 2 * distinct; i < x.size(); ++i) x[i] = x[i % (2 * distinct)];
    Divided problem(random, x, 1e5);
    const Divided other(random, random.vector(2 * Divided::n), 1.0);
    problem.kernel = std::make_shared<InBlocks>(problem.kernel, other.kernel);
    Decomposition solver = problem.solver(0, -1, 2);
    DecompositionProgress progress{};
    for (int slices = 0; !progress.complete && slices < 10000; ++slices) progress = solver.run(0.0);
    CHECK(progress.steps > 1000 && progress.iterations == 0, "it was not divided");
    problem.check(solver, solver.measure(0.0), "divided badly");
}

// Not divided: parts that depend on each other, and a kernel that cannot tell what is near.
void test_undivided(Random& random) {
    Divided problem(random, random.vector(2 * Divided::n), 0.01);
    for (const char* text : {"a wide kernel", "a kernel without affinity"}) {
        Decomposition solver = problem.solver(0, 20, 1);
        CHECK(!solver.run(0.0).complete, "%s: it was not to be divided", text);
        const DecompositionProgress progress = solver.run(60.0);
        CHECK(progress.done && progress.steps == 20, "%s: not done", text);
        problem.check(solver, progress, text);
        problem.kernel = std::make_shared<InBlocks>(problem.kernel);
    }
}

}  // namespace

int main() {
    try {
        kernels();
    } catch (const std::runtime_error& error) {
        std::printf("%s\n", error.what());
        return skipped;
    }
    Random random(2);
    test_pairs(random);
    test_number_of_steps(random);
    test_equal_examples();
    test_cache<float>();
    test_cache<double>();
    test_cache_at_random<float>(random);
    test_cache_at_random<double>(random);
    test_parts(random);
    test_decomposition(random, Source::floats);
    test_decomposition(random, Source::doubles);
    test_decomposition(random, Source::given);
    test_slices(random);
    test_max_steps(random);
    test_nothing_to_do(random);
    test_divide(random);
    test_divided_badly(random);
    test_undivided(random);
    return report(kernels().isa);
}
