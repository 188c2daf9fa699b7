#include "widemargin/packed_examples.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace widemargin {

void prefer_huge_pages([[maybe_unused]] void* data, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    madvise(data, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);  // a wish: failure changes nothing
#endif
}

namespace {

constexpr std::size_t kFewColumns = 2048;  // more are not looked at one by one
constexpr std::size_t kLeastBits = 8;      // columns that are worth words of bits
constexpr std::size_t kLeastGroup = 3;     // columns that are worth a category

bool is_sparse(const Rows& rows) {
    return rows.layout == Layout::sparse32 || rows.layout == Layout::sparse64;
}

// Calls visit(value, column) for what is stored of an example.
template <class Visit>
void for_stored(const Rows& rows, std::size_t l, Visit&& visit) {
    const auto dense = [&](const auto* x) {
        for (std::size_t j = 0; j < rows.width; ++j) visit(static_cast<double>(x[j]), j);
    };
    const auto sparse = [&](const auto* x) {
        for (auto i = rows.starts[l]; i < rows.starts[l + 1]; ++i) {
            visit(static_cast<double>(x[i]), static_cast<std::size_t>(rows.columns[i]));
        }
    };
    switch (rows.layout) {
        case Layout::dense32: return dense(static_cast<const float*>(rows.values) + l * rows.width);
        case Layout::dense64:
            return dense(static_cast<const double*>(rows.values) + l * rows.width);
        case Layout::sparse32: return sparse(static_cast<const float*>(rows.values));
        default: return sparse(static_cast<const double*>(rows.values));
    }
}

// An example as plain doubles.
class Reader {
   public:
    explicit Reader(std::size_t width) : row_(width) {}
    const double* operator()(const Rows& rows, std::int64_t l) {
        if (is_sparse(rows)) std::fill(row_.begin(), row_.end(), 0.0);
        for_stored(rows, static_cast<std::size_t>(l),
                   [&](double x, std::size_t j) { row_[j] = x; });
        return row_.data();
    }

   private:
    std::vector<double> row_;
};

struct Column {
    double first = 0.0, second = 0.0;  // values, in the order of appearance
    int distinct = 0;                  // 3 stands for more
    std::size_t seconds = 0;           // how often the second value, if there are two
    double sum = 0.0, low = 0.0, high = 0.0;
    bool as_float = true;  // all values are floats
};

struct Census {
    std::vector<Column> columns;
    std::size_t count = 0;
    double stored = 0.0;  // non-zero values
    double largest_norm = 0.0;
};

Census look_at(const std::vector<Selection>& sets) {
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
std::vector<std::vector<Encoding::Category>> group_columns(
    const std::vector<Selection>& sets, const Census& census,
    const std::vector<std::int32_t>& candidates) {
    std::vector<Members> members(candidates.size(), Members(census.count));
    std::vector<Encoding::Category> category;
    for (const std::int32_t j : candidates) {
        const Column& c = census.columns[static_cast<std::size_t>(j)];
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

// Whether rounding the centred inputs moves no exponent by more than 1e-5 between examples that
// are as near as 1 / sqrt(gamma).
bool float_resolves(const Census& census, const KernelFunction& kernel) {
    double reach = 0.0;
    for (const Column& c : census.columns) {
        if (c.as_float || c.distinct <= 2) continue;
        const double centre = c.sum / static_cast<double>(census.count);
        reach = std::max({reach, c.high - centre, centre - c.low});
    }
    return 2.0 * std::sqrt(kernel.gamma) * reach * 0x1p-24 <= 1e-5;
}

// Number of words of 32 bits.
std::size_t words_of(std::size_t bits) {
    return (bits + 31) / 32;
}

}  // namespace

Encoding choose_encoding(const KernelFunction& kernel, const std::vector<Selection>& sets,
                         std::optional<bool> asked) {
    Encoding encoding;
    encoding.width = sets.front().rows->width;
    const bool given_sparse = is_sparse(*sets.front().rows);
    const bool distance = kernel.name == KernelName::rbf;
    // Inner products need double: nothing bounds what they lose. Distances do where the centred
    // inputs are so large that float does not resolve them at the kernel's own scale.
    if (encoding.width > kFewColumns && given_sparse) {
        encoding.sparse = true;
        encoding.wide = asked.value_or(!distance || kernel.gamma * largest_norm(sets) >= 32.0);
        return encoding;
    }
    const Census census = look_at(sets);
    const bool wide = encoding.wide = asked.value_or(!distance || !float_resolves(census, kernel));
    const double filled =
        census.stored / (static_cast<double>(census.count) * static_cast<double>(encoding.width));
    // Norms cancel in ||x||^2 + ||x'||^2 - 2 x.x'; float must still resolve what is left.
    const bool norms_are_safe = !distance || wide || kernel.gamma * census.largest_norm < 32.0;

    std::vector<std::int32_t> numbers, two_valued;
    for (std::size_t j = 0; j < encoding.width; ++j) {
        const int distinct = census.columns[j].distinct;
        if (distance && distinct <= 1) continue;  // no distance in a constant
        (distance && distinct == 2 ? two_valued : numbers).push_back(static_cast<std::int32_t>(j));
    }
    // Bits: the most frequent step between two values.
    std::map<double, std::size_t> steps;
    for (const std::int32_t j : two_valued) {
        const Column& c = census.columns[static_cast<std::size_t>(j)];
        ++steps[std::abs(c.second - c.first)];
    }
    const auto common = std::max_element(steps.begin(), steps.end(),
                                         [](auto& a, auto& b) { return a.second < b.second; });
    std::vector<std::int32_t> rest;
    if (common != steps.end() && common->second >= kLeastBits) {
        encoding.bit_weight = common->first * common->first;
        for (const std::int32_t j : two_valued) {
            const Column& c = census.columns[static_cast<std::size_t>(j)];
            if (std::abs(c.second - c.first) == common->first) {
                encoding.bits.push_back({j, c.first});
            } else {
                rest.push_back(j);
            }
        }
    } else {
        rest = two_valued;
    }
    if (rest.size() >= kLeastGroup) {
        for (auto& group : group_columns(sets, census, rest)) {
            if (group.size() >= kLeastGroup) {
                encoding.groups.push_back(std::move(group));
            } else {
                for (const auto& category : group) numbers.push_back(category.column);
            }
        }
    } else {
        numbers.insert(numbers.end(), rest.begin(), rest.end());
    }
    std::sort(numbers.begin(), numbers.end());

    const double dense_cost = (distance ? 2.0 : 1.0) * static_cast<double>(numbers.size()) +
                              3.0 * static_cast<double>(words_of(encoding.bits.size())) +
                              4.0 * static_cast<double>(encoding.groups.size());
    const double sparse_cost = 2.0 * filled * static_cast<double>(encoding.width) + 24.0;
    if (sparse_cost < dense_cost && norms_are_safe) {
        Encoding plain;
        plain.wide = wide;
        plain.width = encoding.width;
        plain.sparse = true;
        return plain;
    }
    for (const std::int32_t j : numbers) {
        const Column& c = census.columns[static_cast<std::size_t>(j)];
        double centre = 0.0;
        if (distance && !wide && !c.as_float) {
            centre = c.sum / static_cast<double>(census.count);
        }
        encoding.inputs.push_back({j, centre});
    }
    return encoding;
}

PackedExamples::PackedExamples(const Selection& examples, const Encoding& encoding) {
    view_.wide = encoding.wide;
    view_.count = examples.count;
    if (encoding.sparse) {
        view_.width = encoding.width;
        encoding.wide ? compress<double>(examples) : compress<float>(examples);
    } else {
        view_.width = encoding.inputs.size();
        view_.words = words_of(encoding.bits.size());
        view_.bit_weight = encoding.bit_weight;
        view_.groups = encoding.groups.size();
        encoding.wide ? fill<double>(examples, encoding) : fill<float>(examples, encoding);
        cost_ = 2.0 * static_cast<double>(view_.width) + 3.0 * static_cast<double>(view_.words) +
                4.0 * static_cast<double>(view_.groups) + 16.0;
    }
    point();
}

template <class T>
void PackedExamples::fill(const Selection& examples, const Encoding& encoding) {
    const std::size_t slots = blocks() * kBlock;
    inputs_ = Buffer<unsigned char>(slots * view_.width * sizeof(T));
    categories_ = Buffer<unsigned char>(slots * view_.groups * sizeof(T));
    weights_ = Buffer<unsigned char>(slots * view_.groups * sizeof(T));
    bits_ = Buffer<std::uint32_t>(slots * view_.words);
    auto* inputs = reinterpret_cast<T*>(inputs_.data());
    auto* categories = reinterpret_cast<T*>(categories_.data());
    auto* weights = reinterpret_cast<T*>(weights_.data());
    Reader read(encoding.width);
    for (std::size_t i = 0; i < slots; ++i) {
        const double* x = read(*examples.rows, examples.order[i < examples.count ? i : 0]);
        const std::size_t block = i / kBlock, lane = i % kBlock;
        for (std::size_t j = 0; j < view_.width; ++j) {
            const auto& [column, centre] = encoding.inputs[j];
            inputs[(block * view_.width + j) * kBlock + lane] = static_cast<T>(x[column] - centre);
        }
        for (std::size_t w = 0; w < view_.words; ++w) {
            std::uint32_t word = 0;
            for (std::size_t k = 32 * w; k < std::min(32 * w + 32, encoding.bits.size()); ++k) {
                word |=
                    static_cast<std::uint32_t>(x[encoding.bits[k].column] != encoding.bits[k].off)
                    << (k % 32);
            }
            bits_[(block * view_.words + w) * kBlock + lane] = word;
        }
        for (std::size_t g = 0; g < view_.groups; ++g) {
            T category = 0, weight = 0;
            for (std::size_t c = 0; c < encoding.groups[g].size(); ++c) {
                if (x[encoding.groups[g][c].column] != encoding.groups[g][c].off) {
                    category = static_cast<T>(c + 1);
                    weight = static_cast<T>(encoding.groups[g][c].weight);
                }
            }
            categories[(block * view_.groups + g) * kBlock + lane] = category;
            weights[(block * view_.groups + g) * kBlock + lane] = weight;
        }
    }
}

template <class T>
void PackedExamples::compress(const Selection& examples) {
    starts_ = Buffer<std::int64_t>(examples.count + 1);
    starts_[0] = 0;
    for (std::size_t i = 0; i < examples.count; ++i) {
        std::int64_t stored = 0;
        for_stored(*examples.rows, static_cast<std::size_t>(examples.order[i]),
                   [&](double x, std::size_t) { stored += x != 0.0; });
        starts_[i + 1] = starts_[i] + stored;
    }
    const auto stored = static_cast<std::size_t>(starts_[examples.count]);
    values_ = Buffer<unsigned char>(stored * sizeof(T));
    columns_ = Buffer<std::int32_t>(stored);
    norms_ = Buffer<unsigned char>(blocks() * kBlock * sizeof(T));
    auto* values = reinterpret_cast<T*>(values_.data());
    auto* norms = reinterpret_cast<T*>(norms_.data());
    std::size_t at = 0;
    for (std::size_t i = 0; i < blocks() * kBlock; ++i) norms[i] = 0;
    for (std::size_t i = 0; i < examples.count; ++i) {
        for_stored(*examples.rows, static_cast<std::size_t>(examples.order[i]),
                   [&](double x, std::size_t j) {
                       if (x == 0.0) return;
                       values[at] = static_cast<T>(x);
                       columns_[at] = static_cast<std::int32_t>(j);
                       norms[i] = std::fma(values[at], values[at], norms[i]);
                       ++at;
                   });
    }
    cost_ = 2.0 * static_cast<double>(stored) /
                static_cast<double>(std::max<std::size_t>(1, examples.count)) +
            40.0;
}

PackedExamples PackedExamples::gather(const std::int64_t* index, std::size_t count) const {
    PackedExamples some;
    some.view_ = view_;
    some.view_.count = count;
    some.cost_ = cost_;
    const std::size_t slots = some.blocks() * kBlock;
    const std::size_t size = view_.wide ? sizeof(double) : sizeof(float);
    const auto pick = [&](const unsigned char* from, std::size_t n, std::size_t bytes) {
        Buffer<unsigned char> to(slots * n * bytes);
        for (std::size_t i = 0; i < slots; ++i) {
            const auto l = static_cast<std::size_t>(index[i < count ? i : 0]);
            const unsigned char* source = from + (l / kBlock * n * kBlock + l % kBlock) * bytes;
            unsigned char* target = to.data() + (i / kBlock * n * kBlock + i % kBlock) * bytes;
            for (std::size_t j = 0; j < n; ++j) {
                std::memcpy(target + j * kBlock * bytes, source + j * kBlock * bytes, bytes);
            }
        }
        return to;
    };
    if (view_.values == nullptr) {
        some.inputs_ = pick(inputs_.data(), view_.width, size);
        some.categories_ = pick(categories_.data(), view_.groups, size);
        some.weights_ = pick(weights_.data(), view_.groups, size);
        some.bits_ = Buffer<std::uint32_t>(slots * view_.words);
        for (std::size_t i = 0; i < slots; ++i) {
            const auto l = static_cast<std::size_t>(index[i < count ? i : 0]);
            for (std::size_t w = 0; w < view_.words; ++w) {
                some.bits_[(i / kBlock * view_.words + w) * kBlock + i % kBlock] =
                    bits_[(l / kBlock * view_.words + w) * kBlock + l % kBlock];
            }
        }
    } else {
        some.starts_ = Buffer<std::int64_t>(count + 1);
        some.starts_[0] = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const auto l = static_cast<std::size_t>(index[i]);
            some.starts_[i + 1] = some.starts_[i] + starts_[l + 1] - starts_[l];
        }
        const auto stored = static_cast<std::size_t>(some.starts_[count]);
        some.values_ = Buffer<unsigned char>(stored * size);
        some.columns_ = Buffer<std::int32_t>(stored);
        some.norms_ = Buffer<unsigned char>(slots * size);
        for (std::size_t i = 0; i < slots; ++i) {
            const auto l = static_cast<std::size_t>(index[i < count ? i : 0]);
            std::memcpy(some.norms_.data() + i * size, norms_.data() + l * size, size);
            if (i >= count) continue;
            const auto from = static_cast<std::size_t>(starts_[l]);
            const auto to = static_cast<std::size_t>(some.starts_[i]);
            const auto n = static_cast<std::size_t>(starts_[l + 1]) - from;
            if (n == 0) continue;
            std::memcpy(some.values_.data() + to * size, values_.data() + from * size, n * size);
            std::memcpy(some.columns_.data() + to, columns_.data() + from,
                        n * sizeof(std::int32_t));
        }
    }
    some.point();
    return some;
}

std::size_t PackedExamples::bytes() const {
    return inputs_.size() + categories_.size() + weights_.size() + values_.size() + norms_.size() +
           4 * (bits_.size() + columns_.size()) + 8 * starts_.size();
}

void PackedExamples::point() {
    view_.inputs = inputs_.data();
    view_.bits = bits_.data();
    view_.categories = categories_.data();
    view_.weights = weights_.data();
    view_.values = starts_.size() > 0 ? values_.data() : nullptr;
    view_.columns = columns_.data();
    view_.starts = starts_.data();
    view_.norms = norms_.data();
}

}  // namespace widemargin
