#include "widemargin/kernel/encoding.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "widemargin/rows/stored_rows.hpp"

namespace widemargin {
namespace {

constexpr std::size_t kFewColumns = 2048;  // more are not looked at one by one
constexpr std::size_t kLeastBits = 8;      // columns that are worth words of bits
constexpr std::size_t kLeastGroup = 3;     // columns that are worth a category

using Columns = std::vector<std::int32_t>;

// ------------------------------------------------------------------------------ the columns

struct Column {
    double first = 0.0, second = 0.0;  // values, in the order of appearance
    int distinct = 0;                  // 3 stands for more
    std::size_t seconds = 0;           // how often the second value, if there are two
    double sum = 0.0, low = 0.0, high = 0.0;
    bool as_float = true;  // all values are floats
};

// What decides on the encoding.
struct Census {
    std::vector<Column> columns;
    std::size_t count = 0;
    double stored = 0.0;  // non-zero values
    double largest_norm = 0.0;

    const Column& operator[](std::int32_t j) const { return columns[static_cast<std::size_t>(j)]; }
    double mean(const Column& column) const { return column.sum / static_cast<double>(count); }
};

Census take_census(const std::vector<Selection>& sets) {
    Census census;
    const std::size_t width = sets.front().rows->width;
    census.columns.resize(width);
    Reader read(width);
    for (const Selection& set : sets) {
        for (std::size_t i = 0; i < set.count; ++i) {
            const double* x = read(*set.rows, set.order[i]);
            double norm = 0.0;
            for (std::size_t j = 0; j < width; ++j) {
                Column& column = census.columns[j];
                if (column.distinct == 0) {
                    column.first = column.low = column.high = x[j];
                    column.distinct = 1;
                } else if (x[j] != column.first && column.distinct < 3) {
                    if (column.distinct == 1) column.second = x[j], column.distinct = 2;
                    if (x[j] != column.second) column.distinct = 3;
                }
                column.seconds += column.distinct == 2 && x[j] == column.second;
                column.sum += x[j];
                column.low = std::min(column.low, x[j]);
                column.high = std::max(column.high, x[j]);
                column.as_float &= static_cast<double>(static_cast<float>(x[j])) == x[j];
                census.stored += x[j] != 0.0;
                norm += x[j] * x[j];
            }
            census.largest_norm = std::max(census.largest_norm, norm);
        }
        census.count += set.count;
    }
    return census;
}

// Which examples differ from the usual value of a column, as bits.
class Members {
   public:
    explicit Members(std::size_t count) : words_((count + 63) / 64) {}
    void add(std::size_t i) { words_[i / 64] |= std::uint64_t{1} << (i % 64); }
    bool meets(const Members& other) const {
        for (std::size_t w = 0; w < words_.size(); ++w) {
            if (words_[w] & other.words_[w]) return true;
        }
        return false;
    }
    void join(const Members& other) {
        for (std::size_t w = 0; w < words_.size(); ++w) words_[w] |= other.words_[w];
    }

   private:
    std::vector<std::uint64_t> words_;
};

// Two-valued columns that exclude each other share a group, the first one that has room.
std::vector<std::vector<Encoding::Category>> group_columns(const std::vector<Selection>& sets,
                                                           const Census& census,
                                                           const Columns& candidates) {
    std::vector<Members> members(candidates.size(), Members(census.count));
    std::vector<Encoding::Category> category;
    for (const std::int32_t j : candidates) {
        const Column& c = census[j];
        const double off = 2 * c.seconds > census.count ? c.second : c.first;
        const double step = c.second - c.first;
        category.push_back({j, off, step * step});
    }
    Reader read(census.columns.size());
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
    std::vector<Members> occupied;
    for (std::size_t c = 0; c < candidates.size(); ++c) {
        std::size_t g = 0;
        while (g < groups.size() && occupied[g].meets(members[c])) ++g;
        if (g == groups.size()) {
            groups.emplace_back();
            occupied.emplace_back(census.count);
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

// Norms cancel in ||x||^2 + ||x'||^2 - 2 x.x'; float must still resolve what is left.
bool float_resolves_norms(const KernelFunction& kernel, double largest) {
    return kernel.gamma * largest < 32.0;
}

// Whether rounding the centred inputs moves no exponent by more than 1e-5 between examples that
// are as near as 1 / sqrt(gamma).
bool float_resolves_inputs(const KernelFunction& kernel, const Census& census) {
    double reach = 0.0;
    for (const Column& c : census.columns) {
        if (c.as_float || c.distinct <= 2) continue;
        const double centre = census.mean(c);
        reach = std::max({reach, c.high - centre, centre - c.low});
    }
    return 2.0 * std::sqrt(kernel.gamma) * reach * 0x1p-24 <= 1e-5;
}

// ---------------------------------------------------------------------- parts of a distance

// Makes bits of the columns with the most frequent step between two values; returns the others.
Columns take_bits(const Census& census, const Columns& two_valued, Encoding& encoding) {
    const auto step = [&](std::int32_t j) { return std::abs(census[j].second - census[j].first); };
    std::map<double, std::size_t> steps;
    for (const std::int32_t j : two_valued) ++steps[step(j)];
    const auto common = std::max_element(steps.begin(), steps.end(),
                                         [](auto& a, auto& b) { return a.second < b.second; });
    if (common == steps.end() || common->second < kLeastBits) return two_valued;
    encoding.bit_weight = common->first * common->first;
    Columns others;
    for (const std::int32_t j : two_valued) {
        if (step(j) == common->first) {
            encoding.bits.push_back({j, census[j].first});
        } else {
            others.push_back(j);
        }
    }
    return others;
}

// Makes groups of the columns that exclude each other, where they are many; returns the others.
Columns take_groups(const std::vector<Selection>& sets, const Census& census,
                    const Columns& two_valued, Encoding& encoding) {
    if (two_valued.size() < kLeastGroup) return two_valued;
    Columns others;
    for (auto& group : group_columns(sets, census, two_valued)) {
        if (group.size() >= kLeastGroup) {
            encoding.groups.push_back(std::move(group));
        } else {
            for (const auto& category : group) others.push_back(category.column);
        }
    }
    return others;
}

Encoding compressed(std::size_t width, bool wide) {
    Encoding encoding;
    encoding.width = width;
    encoding.wide = wide;
    encoding.sparse = true;
    return encoding;
}

}  // namespace

Encoding choose_encoding(const KernelFunction& kernel, const std::vector<Selection>& sets,
                         std::optional<bool> asked) {
    const Rows& rows = *sets.front().rows;
    const bool distance = kernel.name == KernelName::rbf;
    // Inner products need double: nothing bounds what they lose. Distances need it where float
    // does not resolve them at the kernel's own scale.
    if (rows.width > kFewColumns && is_sparse(rows)) {
        const bool enough = distance && float_resolves_norms(kernel, largest_norm(sets));
        return compressed(rows.width, asked.value_or(!enough));
    }
    const Census census = take_census(sets);
    Encoding encoding;
    encoding.width = rows.width;
    encoding.wide = asked.value_or(!distance || !float_resolves_inputs(kernel, census));

    Columns numbers, two_valued;
    for (std::size_t j = 0; j < rows.width; ++j) {
        const int distinct = census.columns[j].distinct;
        if (distance && distinct <= 1) continue;  // no distance in a constant
        (distance && distinct == 2 ? two_valued : numbers).push_back(static_cast<std::int32_t>(j));
    }
    const Columns rest =
        take_groups(sets, census, take_bits(census, two_valued, encoding), encoding);
    numbers.insert(numbers.end(), rest.begin(), rest.end());
    std::sort(numbers.begin(), numbers.end());

    const double dense_cost = (distance ? 2.0 : 1.0) * static_cast<double>(numbers.size()) +
                              3.0 * static_cast<double>(encoding.words()) +
                              4.0 * static_cast<double>(encoding.groups.size());
    const double sparse_cost = 2.0 * census.stored / static_cast<double>(census.count) + 24.0;
    const bool norms_are_safe =
        !distance || encoding.wide || float_resolves_norms(kernel, census.largest_norm);
    if (sparse_cost < dense_cost && norms_are_safe) return compressed(rows.width, encoding.wide);

    for (const std::int32_t j : numbers) {
        const bool centred = distance && !encoding.wide && !census[j].as_float;
        encoding.inputs.push_back({j, centred ? census.mean(census[j]) : 0.0});
    }
    return encoding;
}

}  // namespace widemargin
