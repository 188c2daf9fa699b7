#include "widemargin/kernel/encoding.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "widemargin/rows/stored_rows.hpp"

namespace widemargin {
namespace {

constexpr std::size_t kMostExaminedColumns = 2048;  // of sparse rows; more are stored as they are
constexpr std::size_t kSmallestBitColumns = 8;      // fewer are not worth words of bits
constexpr std::size_t kSmallestGroupColumns = 3;    // fewer are not worth a category

using Columns = std::vector<std::int32_t>;

// ------------------------------------------------------------------------------ the columns

struct Column {
    double first = 0.0, second = 0.0;  // values, in the order of appearance
    int distinct = 0;                  // number of values; 3 means 3 or more
    std::size_t seconds = 0;           // how often the second value occurs, if there are two
    double sum = 0.0, low = 0.0, high = 0.0;
    bool as_float = true;  // all values are floats
};

// The statistics that decide on the encoding.
struct ColumnStatistics {
    std::vector<Column> columns;
    std::size_t count = 0;
    double stored = 0.0;                            // non-zero values
    double largest_norm = 0.0, sum_of_norms = 0.0;  // squared

    const Column& operator[](std::int32_t j) const { return columns[static_cast<std::size_t>(j)]; }
    double mean(const Column& column) const { return column.sum / static_cast<double>(count); }
    // The sum of the variances: the mean squared distance from the mean.
    double spread() const {
        double result = sum_of_norms / static_cast<double>(count);
        for (const Column& column : columns) result -= mean(column) * mean(column);
        return result;
    }
};

// Counts the values of columns that have at most two so far; forgets those that have more.
void count_values(const double* x, Columns& open, std::vector<Column>& columns) {
    for (std::size_t k = 0; k < open.size();) {
        const double value = x[open[k]];
        Column& column = columns[static_cast<std::size_t>(open[k])];
        if (column.distinct == 0) column.first = value, column.distinct = 1;
        if (value != column.first) {
            if (column.distinct == 1) column.second = value, column.distinct = 2;
            if (value != column.second) column.distinct = 3;
            ++column.seconds;
        }
        if (column.distinct == 3) {
            open[k] = open.back();
            open.pop_back();
        } else {
            ++k;
        }
    }
}

// Sums and extremes of each column, in arrays of their own so that the loop over columns has no
// branches.
ColumnStatistics column_statistics(const std::vector<Selection>& sets) {
    ColumnStatistics statistics;
    const std::size_t width = sets.front().rows->width;
    statistics.columns.resize(width);
    Columns open(width);
    std::iota(open.begin(), open.end(), 0);
    std::vector<double> sums(width), lows(width), highs(width), rests(width);
    double *sum = sums.data(), *low = lows.data(), *high = highs.data(), *rest = rests.data();
    RowReader read(width);
    for (const Selection& set : sets) {
        for (std::size_t i = 0; i < set.count; ++i) {
            const double* x = read(*set.rows, set.order[i]);
            if (statistics.count + i == 0) lows.assign(x, x + width), highs = lows;
            count_values(x, open, statistics.columns);
            std::int64_t stored = 0;
            for (std::size_t j = 0; j < width; ++j) {
                sum[j] += x[j];
                low[j] = x[j] < low[j] ? x[j] : low[j];
                high[j] = x[j] > high[j] ? x[j] : high[j];
                rest[j] += std::abs(x[j] - static_cast<double>(static_cast<float>(x[j])));
                stored += x[j] != 0.0;
            }
            double norms[4] = {};  // sums that do not wait for each other
            for (std::size_t j = 0; j < width; ++j) norms[j % 4] += x[j] * x[j];
            const double norm = (norms[0] + norms[1]) + (norms[2] + norms[3]);
            statistics.stored += static_cast<double>(stored);
            statistics.largest_norm = std::max(statistics.largest_norm, norm);
            statistics.sum_of_norms += norm;
        }
        statistics.count += set.count;
    }
    for (std::size_t j = 0; j < width; ++j) {
        Column& column = statistics.columns[j];
        column.sum = sum[j], column.low = low[j], column.high = high[j];
        column.as_float = rest[j] == 0.0;
    }
    return statistics;
}

// What a difference adds to a distance.
double term_of(Pairing pairing, double difference) {
    return pairing == Pairing::absolute_distance ? std::abs(difference) : difference * difference;
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
                                                           const Columns& candidates,
                                                           Pairing pairing) {
    std::vector<ExampleSet> members(candidates.size(), ExampleSet(statistics.count));
    std::vector<Encoding::Category> category;
    for (const std::int32_t j : candidates) {
        const Column& c = statistics[j];
        const double off = 2 * c.seconds > statistics.count ? c.second : c.first;
        category.push_back({j, off, term_of(pairing, c.second - c.first)});
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

// Of the norms that sparse rows have as terms: see PackedView.
double largest_norm(const std::vector<Selection>& sets, Pairing pairing) {
    double largest = 0.0;
    for (const Selection& set : sets) {
        for (std::size_t i = 0; i < set.count; ++i) {
            double norm = 0.0;
            for_stored(*set.rows, static_cast<std::size_t>(set.order[i]),
                       [&](double x, std::size_t) { norm += term_of(pairing, x); });
            largest = std::max(largest, norm);
        }
    }
    return largest;
}

// Norms cancel in ||x||^2 + ||x'||^2 - 2 x.x'. Whether the difference still resolves the kernel:
// rounding then changes its exponent by less than about 4e-6 (float) or 2e-11 (double). Roots of
// distances magnify small ones, so that only a Gaussian does without mending them.
bool resolves_norms(const KernelFunction& kernel, double largest, bool double_precision) {
    return kernel.name == KernelName::rbf &&
           kernel.gamma * largest < (double_precision ? 0x1p16 : 32.0);
}

// Whether rounding inputs of this size changes no exponent gamma d^q by more than 1e-5 between
// examples at the distance where it is 1.
bool float_resolves(const KernelFunction& kernel, double reach) {
    const double q = kernel.name == KernelName::rbf ? 2.0 : kernel.exponent;
    return q * std::pow(kernel.gamma, 1.0 / q) * reach * 0x1p-24 <= 1e-5;
}

// Whether float resolves the centred inputs.
bool float_resolves_inputs(const KernelFunction& kernel, const ColumnStatistics& statistics) {
    double largest = 0.0, sum = 0.0;
    for (const Column& c : statistics.columns) {
        if (c.as_float || c.distinct <= 2) continue;
        const double centre = statistics.mean(c);
        const double reach = std::max(c.high - centre, centre - c.low);
        largest = std::max(largest, reach);
        sum += reach;
    }
    const bool absolute = pairing_of(kernel) == Pairing::absolute_distance;
    return float_resolves(kernel, absolute ? sum : largest);
}

// Whether float resolves sparse rows whose norms are at most this large.
bool float_resolves_norms(const KernelFunction& kernel, double largest) {
    if (kernel.name == KernelName::rbf) return resolves_norms(kernel, largest, false);
    const bool absolute = pairing_of(kernel) == Pairing::absolute_distance;
    return float_resolves(kernel, absolute ? largest : std::sqrt(largest));
}

// Whether few distances are so small beside the norms that they have to be summed again.
bool norms_seldom_cancel(const ColumnStatistics& statistics) {
    return statistics.spread() > 0x1p-5 * statistics.largest_norm;
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
    encoding.bit_weight = term_of(encoding.pairing, common->first);
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
    for (auto& group : group_columns(sets, statistics, two_valued, encoding.pairing)) {
        if (group.size() >= kSmallestGroupColumns) {
            encoding.groups.push_back(std::move(group));
        } else {
            for (const auto& category : group) others.push_back(category.column);
        }
    }
    return others;
}

}  // namespace

Pairing pairing_of(const KernelFunction& kernel) {
    const auto entry = std::find_if(
        std::begin(kKernels), std::end(kKernels),
        [&](const auto& known) { return known.name == kernel.name || known.power == kernel.name; });
    return entry->pairing;
}

bool uses_distances(const KernelFunction& kernel) {
    return pairing_of(kernel) != Pairing::product;
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
        encoding.pairing = pairing_of(kernel);
        encoding.cancels = distance && !resolves_norms(kernel, largest, double_precision);
        if (!distance) encoding.centre = centre;
        return encoding;
    };
    // Inner products need double, since nothing bounds their rounding errors. Distances need it
    // where float does not resolve them at the scale of the kernel.
    if (rows.width > kMostExaminedColumns && is_sparse(rows)) {
        const double largest = distance ? largest_norm(sets, pairing_of(kernel)) : 0.0;
        const bool enough = distance && float_resolves_norms(kernel, largest);
        return compressed(largest, asked.value_or(!enough));
    }
    const ColumnStatistics statistics = column_statistics(sets);
    Encoding encoding;
    encoding.width = rows.width;
    encoding.pairing = pairing_of(kernel);
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
    const bool norms_are_safe =
        !distance ||
        (kernel.name == KernelName::rbf
             ? encoding.double_precision || resolves_norms(kernel, statistics.largest_norm, false)
             : norms_seldom_cancel(statistics));
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
