#include "widemargin/kernel/encoding.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "widemargin/rows/stored_rows.hpp"

namespace widemargin {
namespace {

constexpr std::size_t kMostExaminedColumns = 2048;  // of sparse rows; more are stored as they are
constexpr std::size_t kSmallestBitColumns = 8;      // fewer are not worth words of bits
constexpr std::size_t kSmallestGroupColumns = 3;    // fewer are not worth a category

using Columns = std::vector<std::int32_t>;

// ------------------------------------------------------------------------------ the columns

struct Column {
    double first = 0.0, second = 0.0;         // values, in the order of appearance
    int distinct = 0;                         // number of values; 3 means 3 or more
    std::size_t seconds = 0;                  // how often the second value occurs, if there are two
    bool as_float = true;                     // all values are floats
    double sum = 0.0, low = 0.0, high = 0.0;  // unless all inputs are floats
};

// The statistics that decide on the encoding.
struct ColumnStatistics {
    std::vector<Column> columns;
    std::size_t count = 0;
    double stored = 0.0;  // non-zero values
    double largest_norm = 0.0;

    const Column& operator[](std::int32_t j) const { return columns[static_cast<std::size_t>(j)]; }
    double mean(const Column& column) const { return column.sum / static_cast<double>(count); }
};

// Sums and extremes of all columns, in arrays that the compiler's vectors can pass through.
struct ColumnSums {
    std::vector<double> sum, low, high, rounding;  // the last: what float loses

    explicit ColumnSums(const double* x, std::size_t width)
        : sum(width), low(x, x + width), high(x, x + width), rounding(width) {}

    void add(const double* x) {
        for (std::size_t j = 0; j < sum.size(); ++j) {
            sum[j] += x[j];
            low[j] = std::min(low[j], x[j]);
            high[j] = std::max(high[j], x[j]);
            const double lost = std::abs(x[j] - static_cast<double>(static_cast<float>(x[j])));
            rounding[j] = std::max(rounding[j], lost);
        }
    }
};

double squared_norm(const double* x, std::size_t width) {
    double a = 0.0, b = 0.0, c = 0.0, d = 0.0;  // independent sums hide latency
    std::size_t j = 0;
    for (; j + 4 <= width; j += 4) {
        a += x[j] * x[j];
        b += x[j + 1] * x[j + 1];
        c += x[j + 2] * x[j + 2];
        d += x[j + 3] * x[j + 3];
    }
    for (; j < width; ++j) a += x[j] * x[j];
    return (a + b) + (c + d);
}

// Takes note of the value of a column that is not known to have three; whether it is still so.
bool see_value(Column& column, double x) {
    if (column.distinct == 0) {
        column.first = x;
        column.distinct = 1;
    } else if (x != column.first) {
        if (column.distinct == 1) column.second = x, column.distinct = 2;
        if (x != column.second) column.distinct = 3;
        column.seconds += column.distinct == 2;
    }
    return column.distinct < 3;
}

ColumnStatistics column_statistics(const std::vector<Selection>& sets) {
    ColumnStatistics statistics;
    const std::size_t width = sets.front().rows->width;
    auto& columns = statistics.columns;
    columns.resize(width);
    std::vector<std::size_t> few_values(width);  // columns that may have one or two
    std::iota(few_values.begin(), few_values.end(), 0);
    const bool floats = std::all_of(sets.begin(), sets.end(), [](const Selection& set) {
        return set.rows->layout == Layout::dense32 || set.rows->layout == Layout::sparse32;
    });
    std::optional<ColumnSums> sums;
    RowReader read(width);
    for (const Selection& set : sets) {
        for (std::size_t i = 0; i < set.count; ++i) {
            const double* x = read(*set.rows, set.order[i]);
            if (!floats && !sums) sums.emplace(x, width);
            if (sums) sums->add(x);
            std::erase_if(few_values, [&](auto j) { return !see_value(columns[j], x[j]); });
            statistics.stored +=
                static_cast<double>(width) - static_cast<double>(std::count(x, x + width, 0.0));
            statistics.largest_norm = std::max(statistics.largest_norm, squared_norm(x, width));
        }
        statistics.count += set.count;
    }
    for (std::size_t j = 0; sums && j < width; ++j) {
        columns[j].sum = sums->sum[j];
        columns[j].low = sums->low[j];
        columns[j].high = sums->high[j];
        columns[j].as_float = sums->rounding[j] == 0.0;
    }
    return statistics;
}

// A set of examples, as bits: those that differ from the usual value of a column.
class ExampleSet {
   public:
    explicit ExampleSet(std::size_t count) : words_((count + 63) / 64) {}
    void add(std::size_t i) { words_[i / 64] |= std::uint64_t{1} << (i % 64); }
    bool meets(const ExampleSet& other) const {
        for (std::size_t w = 0; w < words_.size(); ++w) {
            if (words_[w] & other.words_[w]) return true;
        }
        return false;
    }
    void join(const ExampleSet& other) {
        for (std::size_t w = 0; w < words_.size(); ++w) words_[w] |= other.words_[w];
    }

   private:
    std::vector<std::uint64_t> words_;
};

// Two-valued columns that exclude each other share a group: the first group with room.
std::vector<std::vector<Encoding::Category>> group_columns(const std::vector<Selection>& sets,
                                                           const ColumnStatistics& statistics,
                                                           const Columns& candidates) {
    std::vector<ExampleSet> members(candidates.size(), ExampleSet(statistics.count));
    std::vector<Encoding::Category> category;
    for (const std::int32_t j : candidates) {
        const Column& c = statistics[j];
        const double off = 2 * c.seconds > statistics.count ? c.second : c.first;
        const double step = c.second - c.first;
        category.push_back({j, off, step * step});
    }
    RowReader read(statistics.columns.size());
    std::size_t at = 0;
    for (const Selection& set : sets) {
        for (std::size_t i = 0; i < set.count; ++i, ++at) {
            const double* x = read(*set.rows, set.order[i]);
            for (std::size_t c = 0; c < candidates.size(); ++c) {
                if (x[category[c].column] != category[c].off) members[c].add(at);
            }
        }
    }
    std::vector<std::vector<Encoding::Category>> groups;
    std::vector<ExampleSet> occupied;
    for (std::size_t c = 0; c < candidates.size(); ++c) {
        std::size_t g = 0;
        while (g < groups.size() && occupied[g].meets(members[c])) ++g;
        if (g == groups.size()) {
            groups.emplace_back();
            occupied.emplace_back(statistics.count);
        }
        groups[g].push_back(category[c]);
        occupied[g].join(members[c]);
    }
    return groups;
}

// -------------------------------------------------------------------------------- precision

double largest_norm(const std::vector<Selection>& sets) {
    double largest = 0.0;
    for (const Selection& set : sets) {
        for (std::size_t i = 0; i < set.count; ++i) {
            double norm = 0.0;
            for_stored(*set.rows, static_cast<std::size_t>(set.order[i]),
                       [&](double x, std::size_t) { norm += x * x; });
            largest = std::max(largest, norm);
        }
    }
    return largest;
}

// Norms cancel in ||x||^2 + ||x'||^2 - 2 x.x'. Whether the difference still resolves the kernel:
// rounding then changes its exponent by less than about 4e-6 (float) or 2e-11 (double).
bool resolves_norms(const KernelFunction& kernel, double largest, bool double_precision) {
    return kernel.gamma * largest < (double_precision ? 0x1p16 : 32.0);
}

// Whether rounding the centred inputs changes no exponent by more than 1e-5 between examples at a
// distance of 1 / sqrt(gamma).
bool float_resolves_inputs(const KernelFunction& kernel, const ColumnStatistics& statistics) {
    double reach = 0.0;
    for (const Column& c : statistics.columns) {
        if (c.as_float || c.distinct <= 2) continue;
        const double centre = statistics.mean(c);
        reach = std::max({reach, c.high - centre, centre - c.low});
    }
    return 2.0 * std::sqrt(kernel.gamma) * reach * 0x1p-24 <= 1e-5;
}

// ---------------------------------------------------------------------- terms of a distance

// Stores as bits the columns with the most frequent difference between two values; returns the
// others.
Columns take_bits(const ColumnStatistics& statistics, const Columns& two_valued,
                  Encoding& encoding) {
    const auto step = [&](std::int32_t j) {
        return std::abs(statistics[j].second - statistics[j].first);
    };
    std::map<double, std::size_t> steps;
    for (const std::int32_t j : two_valued) ++steps[step(j)];
    const auto common = std::max_element(steps.begin(), steps.end(),
                                         [](auto& a, auto& b) { return a.second < b.second; });
    if (common == steps.end() || common->second < kSmallestBitColumns) return two_valued;
    encoding.bit_weight = common->first * common->first;
    Columns others;
    for (const std::int32_t j : two_valued) {
        if (step(j) == common->first) {
            encoding.bits.push_back({j, statistics[j].first});
        } else {
            others.push_back(j);
        }
    }
    return others;
}

// Stores as groups the columns that exclude each other, if there are enough; returns the others.
Columns take_groups(const std::vector<Selection>& sets, const ColumnStatistics& statistics,
                    const Columns& two_valued, Encoding& encoding) {
    if (two_valued.size() < kSmallestGroupColumns) return two_valued;
    Columns others;
    for (auto& group : group_columns(sets, statistics, two_valued)) {
        if (group.size() >= kSmallestGroupColumns) {
            encoding.groups.push_back(std::move(group));
        } else {
            for (const auto& category : group) others.push_back(category.column);
        }
    }
    return others;
}

}  // namespace

bool uses_distances(const KernelFunction& kernel) {
    const auto entry = std::find_if(std::begin(kKernels), std::end(kKernels),
                                    [&](const auto& known) { return known.name == kernel.name; });
    return entry->pairing == Pairing::squared_distance;
}

Encoding choose_encoding(const KernelFunction& kernel, const std::vector<Selection>& sets,
                         std::optional<bool> asked, std::vector<double> centre) {
    const Rows& rows = *sets.front().rows;
    const bool distance = uses_distances(kernel);
    const auto compressed = [&](double largest, bool double_precision) {
        Encoding encoding;
        encoding.width = rows.width;
        encoding.double_precision = double_precision;
        encoding.sparse = true;
        encoding.distances = distance;
        encoding.cancels = distance && !resolves_norms(kernel, largest, double_precision);
        if (!distance) encoding.centre = centre;
        return encoding;
    };
    // Inner products need double, since nothing bounds their rounding errors. Distances need it
    // where float does not resolve them at the scale of the kernel.
    if (rows.width > kMostExaminedColumns && is_sparse(rows)) {
        const double largest = distance ? largest_norm(sets) : 0.0;
        const bool enough = distance && resolves_norms(kernel, largest, false);
        return compressed(largest, asked.value_or(!enough));
    }
    const ColumnStatistics statistics = column_statistics(sets);
    Encoding encoding;
    encoding.width = rows.width;
    encoding.double_precision =
        asked.value_or(!distance || !float_resolves_inputs(kernel, statistics));

    Columns numbers, two_valued;
    for (std::size_t j = 0; j < rows.width; ++j) {
        const int distinct = statistics.columns[j].distinct;
        if (distance && distinct <= 1) continue;  // a constant adds no distance
        (distance && distinct == 2 ? two_valued : numbers).push_back(static_cast<std::int32_t>(j));
    }
    const Columns rest =
        take_groups(sets, statistics, take_bits(statistics, two_valued, encoding), encoding);
    numbers.insert(numbers.end(), rest.begin(), rest.end());
    std::sort(numbers.begin(), numbers.end());

    const double dense_cost = (distance ? 2.0 : 1.0) * static_cast<double>(numbers.size()) +
                              3.0 * static_cast<double>(encoding.words()) +
                              4.0 * static_cast<double>(encoding.groups.size());
    const double sparse_cost =
        2.0 * statistics.stored / static_cast<double>(statistics.count) + 24.0;
    const bool norms_are_safe = !distance || encoding.double_precision ||
                                resolves_norms(kernel, statistics.largest_norm, false);
    if (sparse_cost < dense_cost && norms_are_safe)
        return compressed(statistics.largest_norm, encoding.double_precision);

    for (const std::int32_t j : numbers) {
        const bool rounded = distance && !encoding.double_precision && !statistics[j].as_float;
        double offset = rounded ? statistics.mean(statistics[j]) : 0.0;
        if (!distance && !centre.empty()) offset = centre[static_cast<std::size_t>(j)];
        encoding.inputs.push_back({j, offset});
    }
    return encoding;
}

}  // namespace widemargin
