// Examples in blocks and rows of the kernel, on the instruction set that WIDEMARGIN_ISA names (77:
// this CPU has no such set), against plain loops.
//
// Buffers have exactly the size they need, so that a read past their end is an error under
// AddressSanitizer.
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

#include "checks.hpp"
#include "widemargin/kernel_source.hpp"

namespace {

using namespace widemargin;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

std::size_t rounded(std::size_t n) {
    return (n + kBlock - 1) / kBlock * kBlock;
}

Order first_ones(std::size_t n) {
    Order order(n);
    std::iota(order.begin(), order.end(), 0);
    return order;
}

Order random_order(Random& random, std::size_t examples, std::size_t n) {
    Order order(n);
    for (auto& l : order) l = static_cast<std::int64_t>(random.below(examples));
    return order;
}

// ------------------------------------------------------------------------------------- data

// A matrix, and the same numbers as dense or compressed rows, of double or float.
struct Data {
    std::size_t count, width;
    Doubles x, stored64;
    std::vector<float> stored32;
    std::vector<std::int32_t> columns;
    Order starts;

    Data(std::size_t count, std::size_t width) : count(count), width(width), x(count * width) {}

    double& at(std::size_t l, std::size_t j) { return x[l * width + j]; }
    const double* row(std::size_t l) const { return x.data() + l * width; }

    Rows dense(bool wide = true) {
        if (wide) return {Layout::dense64, x.data(), nullptr, nullptr, count, width};
        stored32.assign(x.begin(), x.end());
        return {Layout::dense32, stored32.data(), nullptr, nullptr, count, width};
    }
    Rows sparse(bool wide = true) {
        stored64.clear();
        columns.clear();
        starts.assign(1, 0);
        for (std::size_t i = 0; i < x.size(); ++i) {
            if (x[i] != 0.0) {
                stored64.push_back(x[i]);
                columns.push_back(static_cast<std::int32_t>(i % width));
            }
            if (i % width == width - 1) {
                starts.push_back(static_cast<std::int64_t>(stored64.size()));
            }
        }
        stored32.assign(stored64.begin(), stored64.end());
        const void* values = wide ? static_cast<const void*>(stored64.data())
                                  : static_cast<const void*>(stored32.data());
        return {wide ? Layout::sparse64 : Layout::sparse32,
                values,
                columns.data(),
                starts.data(),
                count,
                width};
    }
};

enum class Kind { numbers, bits, groups, mixed, sparse };
constexpr Kind kinds[] = {Kind::numbers, Kind::bits, Kind::groups, Kind::mixed, Kind::sparse};

void add_numbers(Random& random, Data& data, std::size_t first, std::size_t n) {
    for (std::size_t l = 0; l < data.count; ++l) {
        for (std::size_t j = first; j < first + n; ++j) data.at(l, j) = random.centred();
    }
}
void add_bits(Random& random, Data& data, std::size_t first, std::size_t n) {
    for (std::size_t l = 0; l < data.count; ++l) {
        for (std::size_t j = 0; j < n; ++j) {
            const double off = j % 3 == 0 ? -0.25 : 0.0;
            data.at(l, first + j) = random.below(2) ? off : off + 0.75;
        }
    }
}
// At most one of these columns differs from 0, each by a step of its own. The examples are sorted.
void add_group(Data& data, std::size_t first, std::size_t n) {
    for (std::size_t l = 0; l < data.count; ++l) {
        const std::size_t j = l * (n + 1) / data.count;
        if (j < n) data.at(l, first + j) = static_cast<double>(first + j + 1) / 16.0;
    }
}
void add_constant(Data& data, std::size_t j) {
    for (std::size_t l = 0; l < data.count; ++l) data.at(l, j) = 0.5;
}

// Numbers of the type that the kernel is computed in, so that only its arithmetic is inexact.
Data make(Random& random, Kind kind, std::size_t count, bool wide) {
    Data data(count, kind == Kind::sparse ? 300 : 60);
    switch (kind) {
        case Kind::numbers:
            data = Data(count, 9);
            add_numbers(random, data, 0, 8);
            add_constant(data, 8);
            break;
        case Kind::bits:
            data = Data(count, 41);
            add_bits(random, data, 0, 41);
            break;
        case Kind::groups:
            data = Data(count, 13);
            add_group(data, 0, 6);
            add_group(data, 6, 7);
            break;
        case Kind::mixed:
            add_numbers(random, data, 0, 7);
            add_bits(random, data, 7, 40);
            add_group(data, 47, 12);
            add_constant(data, 59);
            break;
        case Kind::sparse:
            for (std::size_t l = 0; l < count; ++l) {
                if (l % 7 == 3) continue;  // an example without inputs
                for (std::size_t j = 0; j < data.width; ++j) {
                    if (random.below(30) == 0) data.at(l, j) = random.centred();
                }
            }
            break;
    }
    for (double& value : data.x) value = wide ? value : static_cast<float>(value);
    return data;
}

constexpr KernelFunction rbf = {KernelName::rbf, 0.3, 0.0, 0};
constexpr KernelFunction linear = {KernelName::linear, 0.0, 0.0, 0};
constexpr KernelFunction functions[] = {
    rbf, linear, {KernelName::poly, 0.25, 1.0, 3}, {KernelName::sigmoid, 0.1, -0.25, 0}};

double plain(const KernelFunction& k, const double* x, const double* other, std::size_t width) {
    long double product = 0.0L, distance = 0.0L;
    for (std::size_t j = 0; j < width; ++j) {
        const long double a = x[j], b = other[j];
        product += a * b;
        distance += (a - b) * (a - b);
    }
    const long double inner = k.gamma * product + k.coef0;
    switch (k.name) {
        case KernelName::linear: return static_cast<double>(product);
        case KernelName::poly: return static_cast<double>(std::pow(inner, k.degree));
        case KernelName::sigmoid: return static_cast<double>(std::tanh(inner));
        case KernelName::rbf: break;
    }
    return static_cast<double>(std::exp(-k.gamma * distance));
}

// ------------------------------------------------------------------------------ kernel rows

// Rows of some examples over others, and sums of them.
struct Use {
    std::size_t first = 0, last = 0;  // blocks
    Doubles coef;                     // outputs x rows
    std::size_t outputs = 0;
    std::vector<bool> kept;  // empty: all
    int threads = 1;
};
struct Values {
    std::vector<Doubles> rows;  // NaN where nothing was written
    Doubles f;

    bool operator==(const Values& other) const { return rows == other.rows && f == other.f; }
};

template <class T>
Values compute_as(const KernelFunction& kernel, const PackedView& from, const Order& index,
                  const PackedView& at, const Use& use, Doubles f) {
    const std::size_t stride = rounded(at.count);
    std::vector<std::vector<T>> rows(index.size(), std::vector<T>(stride, static_cast<T>(nan)));
    std::vector<void*> keep;
    for (std::size_t r = 0; r < rows.size(); ++r) {
        keep.push_back(use.kept.empty() || use.kept[r] ? rows[r].data() : nullptr);
    }
    kernels().kernel_rows(kernel, {&from, index.data(), index.size()}, at,
                          {use.first, use.last ? use.last : stride / kBlock, use.outputs,
                           use.coef.data(), f.data(), stride, keep.data(), use.threads});
    Values values{{}, std::move(f)};
    for (const auto& row : rows) values.rows.emplace_back(row.begin(), row.end());
    return values;
}

Values compute(const KernelFunction& kernel, const PackedView& from, const Order& index,
               const PackedView& at, const Use& use = {}, const Doubles& f = {}) {
    return at.wide ? compute_as<double>(kernel, from, index, at, use, f)
                   : compute_as<float>(kernel, from, index, at, use, f);
}

struct Case {
    const Data& data;
    KernelFunction kernel;
    const Order& order;  // of the packed examples
    const PackedExamples& packed;
    const char* text;
};

std::string describe(Kind kind, const KernelFunction& kernel, bool wide, std::size_t count) {
    static const char* kind_names[] = {"numbers", "bits", "groups", "mixed", "sparse"};
    static const char* names[] = {"linear", "poly", "rbf", "sigmoid"};
    return std::string(names[static_cast<int>(kernel.name)]) + (wide ? " double " : " float ") +
           kind_names[static_cast<int>(kind)] + " " + std::to_string(count);
}

// All values; they are right, symmetric, and exact where the examples are equal.
std::vector<Doubles> check_matrix(const Case& c) {
    const std::size_t n = c.packed.view().count;
    const Values all = compute(c.kernel, c.packed.view(), first_ones(n), c.packed.view());
    const double tolerance = c.packed.view().wide ? 1e-13 : 1e-5;
    for (std::size_t a = 0; a < n; ++a) {
        for (std::size_t b = 0; b < n; ++b) {
            const double* x = c.data.row(static_cast<std::size_t>(c.order[a]));
            const double* other = c.data.row(static_cast<std::size_t>(c.order[b]));
            const double value = all.rows[a][b], wanted = plain(c.kernel, x, other, c.data.width);
            CHECK(std::fabs(value - wanted) <= tolerance * (1.0 + std::fabs(wanted)),
                  "%s: k(%zu, %zu) = %.17g, not %.17g", c.text, a, b, value, wanted);
            CHECK(value == all.rows[b][a], "%s: %zu, %zu", c.text, a, b);
            const bool exact = c.packed.view().values == nullptr;  // norms are not
            if (exact && c.kernel.name == KernelName::rbf && c.order[a] == c.order[b]) {
                CHECK(value == 1.0, "%s: k(%zu, %zu) = 1 - %g", c.text, a, b, 1.0 - value);
            }
        }
    }
    return all.rows;
}

// A value does not depend on how many rows there are, nor on the places of its examples.
void check_places(Random& random, const Case& c, const std::vector<Doubles>& all) {
    const PackedView& view = c.packed.view();
    for (std::size_t a = 0; a < view.count; a += 3) {
        const Values one = compute(c.kernel, view, {static_cast<std::int64_t>(a)}, view);
        for (std::size_t b = 0; b < view.count; ++b) {
            CHECK(one.rows[0][b] == all[a][b], "%s: %zu, %zu alone", c.text, a, b);
        }
    }
    const Order rows = random_order(random, view.count, 14);
    for (const std::size_t n : {std::size_t{1}, std::size_t{21}}) {
        const Order places = random_order(random, view.count, n);
        const PackedExamples some = c.packed.gather(places.data(), n);
        const Values moved = compute(c.kernel, view, rows, some.view());
        const Values gathered = compute(c.kernel, some.view(), first_ones(n), some.view());
        for (std::size_t b = 0; b < n; ++b) {
            const auto place = static_cast<std::size_t>(places[b]);
            for (std::size_t r = 0; r < rows.size(); ++r) {
                CHECK(moved.rows[r][b] == all[static_cast<std::size_t>(rows[r])][place],
                      "%s: row %zu at place %zu of %zu", c.text, r, b, n);
            }
            for (std::size_t a = 0; a < n; ++a) {
                CHECK(gathered.rows[a][b] == all[static_cast<std::size_t>(places[a])][place],
                      "%s: %zu, %zu of %zu", c.text, a, b, n);
            }
        }
    }
}

// Sums of rows, some of which are kept, over some of the blocks; the other blocks stay as they are.
void check_use(Random& random, const Case& c, const std::vector<Doubles>& all) {
    const PackedView& view = c.packed.view();
    const std::size_t blocks = c.packed.blocks(), stride = blocks * kBlock;
    for (const std::size_t n : {1, 2, 13, 33}) {
        const Order rows = random_order(random, view.count, n);
        Use use;
        use.first = blocks > 1 ? 1 : 0;
        use.last = blocks > 2 ? blocks - 1 : blocks;
        use.outputs = 3;
        use.coef = random.vector(use.outputs * n);
        for (std::size_t r = 0; r < n; ++r) use.kept.push_back(r % 3 != 1);
        const Doubles before = random.vector(use.outputs * stride);
        const Values values = compute(c.kernel, view, rows, view, use, before);
        for (std::size_t b = 0; b < stride; ++b) {
            const bool inside = use.first <= b / kBlock && b / kBlock < use.last;
            for (std::size_t r = 0; r < n; ++r) {
                const double value = values.rows[r][b];
                if (!inside || !use.kept[r]) {
                    CHECK(std::isnan(value), "%s: row %zu of %zu at %zu", c.text, r, n, b);
                } else if (b < view.count) {
                    CHECK(value == all[static_cast<std::size_t>(rows[r])][b],
                          "%s: row %zu of %zu at %zu", c.text, r, n, b);
                }
            }
            for (std::size_t o = 0; o < use.outputs && (!inside || b < view.count); ++o) {
                long double sum = before[o * stride + b], size = std::fabs(sum);
                for (std::size_t r = 0; inside && r < n; ++r) {
                    const double k = all[static_cast<std::size_t>(rows[r])][b];
                    sum += static_cast<long double>(use.coef[o * n + r]) * k;
                    size += std::fabs(use.coef[o * n + r] * k);
                }
                CHECK(std::fabs(values.f[o * stride + b] - static_cast<double>(sum)) <=
                          (inside ? 1e-14 * static_cast<double>(size) : 0.0),
                      "%s: output %zu of %zu rows at %zu", c.text, o, n, b);
            }
        }
    }
}

void check_threads(Random& random, const Case& c) {
    const PackedView& view = c.packed.view();
    const Order rows = random_order(random, view.count, 35);
    Use use;
    use.outputs = 2;
    use.coef = random.vector(use.outputs * rows.size());
    const Doubles before = random.vector(use.outputs * rounded(view.count));
    const Values one = compute(c.kernel, view, rows, view, use, before);
    use.threads = 2;
    CHECK(compute(c.kernel, view, rows, view, use, before) == one, "%s: two threads", c.text);
}

void check_layout(Kind kind, const KernelFunction& kernel, const PackedView& view,
                  const char* text) {
    struct Layout {
        bool sparse;
        std::size_t inputs, words, groups;
        bool operator==(const Layout&) const = default;
    };
    const std::size_t widths[] = {9, 41, 13, 60, 300};
    const Layout of_distances[] = {
        {false, 8, 0, 0}, {false, 0, 2, 0}, {false, 0, 0, 2}, {false, 7, 2, 1}, {true, 300, 0, 0}};
    const auto k = static_cast<std::size_t>(kind);
    const Layout wanted = kernel.name == KernelName::rbf
                              ? of_distances[k]
                              : Layout{kind == Kind::sparse, widths[k], 0, 0};
    const Layout found{view.values != nullptr, view.width, view.words, view.groups};
    CHECK(found == wanted, "%s: %d, %zu inputs, %zu words, %zu groups", text, found.sparse,
          found.inputs, found.words, found.groups);
}

void test_rows(Random& random) {
    for (const Kind kind : kinds) {
        for (const bool wide : {false, true}) {
            Data data = make(random, kind, 300, wide);
            const Rows stored = kind == Kind::sparse ? data.sparse(wide) : data.dense(wide);
            const Order every = first_ones(data.count);
            for (const KernelFunction& kernel : functions) {
                const Encoding encoding =
                    choose_encoding(kernel, {{&stored, every.data(), every.size()}}, wide);
                for (const std::size_t count : {1, 15, 16, 17, 33, 49, 290}) {
                    const std::string text = describe(kind, kernel, wide, count);
                    const Order order = random_order(random, data.count, count);
                    const PackedExamples packed({&stored, order.data(), count}, encoding);
                    check_layout(kind, kernel, packed.view(), text.c_str());
                    const Case c{data, kernel, order, packed, text.c_str()};
                    if (count == 290) {
                        check_threads(random, c);
                        continue;
                    }
                    const std::vector<Doubles> all = check_matrix(c);
                    check_places(random, c, all);
                    check_use(random, c, all);
                }
            }
        }
    }
}

// One example: nothing differs, so that rbf has no inputs left.
void test_one_example() {
    Data data(1, 5);
    add_constant(data, 3);
    const Rows stored = data.dense();
    const Order every{0};
    for (const KernelFunction& kernel : functions) {
        const Selection one{&stored, every.data(), 1};
        const PackedExamples packed(one, choose_encoding(kernel, {one}, std::nullopt));
        CHECK((packed.view().width == 0) == (kernel.name == KernelName::rbf), "%zu",
              packed.view().width);
        check_matrix({data, kernel, every, packed, "one example"});
    }
}

// Powers of every degree, among them 0.
void test_degrees(Random& random) {
    Data data = make(random, Kind::numbers, 17, true);
    const Rows stored = data.dense();
    const Order every = first_ones(data.count);
    for (int degree = 0; degree <= 9; ++degree) {
        const KernelFunction kernel{KernelName::poly, 0.25, -0.5, degree};
        const Selection all{&stored, every.data(), every.size()};
        const PackedExamples packed(all, choose_encoding(kernel, {all}, std::nullopt));
        check_matrix({data, kernel, every, packed, "poly"});
    }
}

// exp(-d^2) down to where it is 0, tanh from -1 to 1
void test_far(bool wide) {
    Data data(200, 1);
    for (std::size_t l = 0; l < data.count; ++l) {
        data.at(l, 0) = static_cast<double>(l * l) / 1024.0;
    }
    const Rows stored = data.dense();
    const Order every = first_ones(data.count);
    for (const KernelFunction& kernel : {KernelFunction{KernelName::rbf, 1.0, 0.0, 0},
                                         KernelFunction{KernelName::sigmoid, 1.0, -9.0, 0}}) {
        const Selection all{&stored, every.data(), every.size()};
        const PackedExamples packed(all, choose_encoding(kernel, {all}, wide));
        for (const Doubles& row : check_matrix({data, kernel, every, packed, "far"})) {
            for (std::size_t b = 0; b < data.count; ++b) {
                CHECK(std::fabs(row[b]) <= 1.0, "%.17g", row[b]);
            }
        }
    }
}

void test_known_rows(Random& random) {
    const auto run = [&]<class T>(T) {
        for (const std::size_t blocks : {1, 3, 131}) {
            for (const std::size_t n : {0, 1, 7, 8, 9, 20}) {
                const std::size_t count = blocks * kBlock;
                const std::size_t first = blocks > 1, last = blocks > 3 ? blocks - 1 : blocks;
                std::vector<std::vector<T>> rows(n, std::vector<T>(count));
                std::vector<const void*> known;
                for (auto& row : rows) {
                    for (T& value : row) value = static_cast<T>(random.centred());
                    known.push_back(row.data());
                }
                const Doubles coef = random.vector(n), before = random.vector(count);
                Doubles f = before, again = before;
                constexpr bool wide = sizeof(T) == 8;
                kernels().add_known_rows(
                    {known.data(), coef.data(), n, first, last, f.data(), wide, 1});
                kernels().add_known_rows(
                    {known.data(), coef.data(), n, first, last, again.data(), wide, 2});
                CHECK(f == again, "%zu rows, %zu blocks", n, blocks);
                for (std::size_t b = 0; b < count; ++b) {
                    double sum = before[b];
                    const bool inside = first <= b / kBlock && b / kBlock < last;
                    for (std::size_t r = 0; inside && r < n; ++r) sum += coef[r] * rows[r][b];
                    CHECK(std::fabs(f[b] - sum) <= (inside ? 1e-13 : 0.0), "%zu rows at %zu", n, b);
                }
            }
        }
    };
    run(float{});
    run(double{});
}

// -------------------------------------------------------------------------------- encodings

Encoding encode(const KernelFunction& kernel, const Rows& rows,
                std::optional<bool> wide = std::nullopt) {
    const Order every = first_ones(rows.count);
    return choose_encoding(kernel, {{&rows, every.data(), every.size()}}, wide);
}

void test_encoding(Random& random) {
    Data mixed = make(random, Kind::mixed, 50, false);
    const Encoding parts = encode(rbf, mixed.dense());
    CHECK(!parts.wide && !parts.sparse && parts.width == 60, "mixed");
    CHECK(parts.inputs.size() == 7 && parts.inputs.back().column == 6, "the constant is dropped");
    CHECK(parts.bits.size() == 40 && parts.bit_weight == 0.75 * 0.75, "%zu bits of %g",
          parts.bits.size(), parts.bit_weight);
    CHECK(parts.groups.size() == 1 && parts.groups[0].size() == 12, "%zu groups",
          parts.groups.size());
    for (const auto& category : parts.groups.at(0)) {
        CHECK(category.off == 0.0, "column %d has %g for most examples", category.column,
              category.off);
    }
    const Encoding products = encode(linear, mixed.dense());
    CHECK(products.wide && products.inputs.size() == 60 && products.bits.empty(), "products");
    CHECK(!encode(linear, mixed.dense(), false).wide, "float is asked for");
    CHECK(encode(rbf, mixed.dense(), true).wide, "double is asked for");

    // too few of one step, and not exclusive: numbers
    Data few(50, 7);
    add_bits(random, few, 0, 7);
    CHECK(encode(rbf, few.dense()).inputs.size() == 7, "seven bits");

    // two sets share an encoding: a column may differ only between them
    Data one(20, 1), other(20, 1);
    add_constant(one, 0);
    const Rows a = one.dense(), b = other.dense();
    const Order every = first_ones(20);
    const Selection first{&a, every.data(), 20}, second{&b, every.data(), 20};
    CHECK(choose_encoding(rbf, {first, second}, std::nullopt).inputs.size() == 1, "two sets");
}

void test_encoding_of_sparse(Random& random) {
    Data data = make(random, Kind::sparse, 50, false);
    for (const Rows& rows : {data.dense(), data.sparse()}) {
        CHECK(encode(rbf, rows).sparse && !encode(rbf, rows).wide, "mostly zeros");
        CHECK(encode(linear, rows).sparse && encode(linear, rows).wide, "mostly zeros");
    }
    // norms as large as this would cancel in float
    for (double& value : data.x) value *= 16.0;
    CHECK(!encode(rbf, data.dense()).sparse && !encode(rbf, data.dense()).wide, "large norms");
    CHECK(encode(rbf, data.dense(), true).sparse, "large norms in double");

    Data broad(3, 2500);
    broad.at(0, 7) = broad.at(2, 2499) = 1.0;
    CHECK(encode(rbf, broad.sparse()).sparse && !encode(rbf, broad.sparse()).wide, "broad");
    broad.at(1, 0) = 100.0;
    CHECK(encode(rbf, broad.sparse()).sparse && encode(rbf, broad.sparse()).wide, "large norms");
}

// Double where float does not resolve the inputs at the kernel's scale; else they are centred.
void test_encoding_of_large_inputs(Random& random) {
    Data data(50, 2);
    for (double& value : data.x) value = 1e6 + random.centred();
    const Encoding near = encode(rbf, data.dense());
    CHECK(!near.wide && std::fabs(near.inputs.at(0).centre - 1e6) < 1.0, "%g",
          near.inputs.at(0).centre);
    const Order every = first_ones(50);
    const Rows rows = data.dense();
    const PackedExamples packed({&rows, every.data(), 50}, near);
    check_matrix({data, rbf, every, packed, "large inputs"});

    for (double& value : data.x) value = 1e6 * random.centred();
    CHECK(encode(rbf, data.dense()).wide, "large differences");
    CHECK(encode(rbf, data.dense()).inputs.at(0).centre == 0.0, "double needs no centre");
    CHECK(!encode({KernelName::rbf, 1e-12, 0.0, 0}, data.dense()).wide, "large, but not to gamma");
    for (double& value : data.x) value = std::round(value);
    CHECK(!encode(rbf, data.dense()).wide, "floats as given");
}

// ---------------------------------------------------------------------------------- sources

// The diagonal and the frames of a computed kernel; a given one gives the same.
void test_sources(Random& random) {
    Data data = make(random, Kind::numbers, 37, true);
    const Rows stored = data.dense();
    const Order every = first_ones(data.count);
    const Selection selection{&stored, every.data(), every.size()};
    for (const KernelFunction& kernel : functions) {
        const auto packed =
            std::make_shared<PackedExamples>(selection, choose_encoding(kernel, {selection}, true));
        const ComputedKernel computed(kernel, packed);
        const auto all = compute(kernel, packed->view(), every, packed->view()).rows;
        Doubles diagonal(data.count);
        computed.diagonal(diagonal.data());
        for (std::size_t l = 0; l < data.count; ++l) {
            CHECK(diagonal[l] == all[l][l], "k(%zu, %zu)", l, l);
        }
        const GivenKernel given(data.count, diagonal,
                                [&](const std::int64_t* ids, std::size_t n, double* out) {
                                    for (std::size_t r = 0; r < n; ++r) {
                                        const Doubles& row = all[static_cast<std::size_t>(ids[r])];
                                        std::copy_n(row.begin(), data.count, out + r * data.count);
                                    }
                                });
        const Order rows = random_order(random, data.count, 150);
        for (const Order& places : {Order(), Order{5}, random_order(random, data.count, 23)}) {
            const std::size_t n = places.empty() ? data.count : places.size();
            const Doubles coef = random.vector(2 * rows.size());
            Doubles sums[2];
            for (const KernelSource* source : {static_cast<const KernelSource*>(&computed),
                                               static_cast<const KernelSource*>(&given)}) {
                const auto frame = source->frame(places.empty() ? nullptr : places.data(), n);
                Doubles& f = sums[source == &given];
                f.assign(2 * rounded(n), 0.0);
                Doubles last(rounded(n), nan);
                std::vector<void*> keep(rows.size(), nullptr);
                keep.back() = last.data();
                source->rows(
                    rows.data(), rows.size(), *frame,
                    {0, rounded(n) / kBlock, 2, coef.data(), f.data(), rounded(n), keep.data(), 1});
                for (std::size_t b = 0; b < n; ++b) {
                    const std::size_t l = places.empty() ? b : static_cast<std::size_t>(places[b]);
                    CHECK(last[b] == all[static_cast<std::size_t>(rows.back())][l], "at %zu", b);
                }
            }
            for (std::size_t i = 0; i < sums[0].size(); ++i) {
                if (i % rounded(n) >= n) continue;
                CHECK(std::fabs(sums[0][i] - sums[1][i]) <= 1e-12 * (1.0 + std::fabs(sums[0][i])),
                      "at %zu: %g, %g", i, sums[0][i], sums[1][i]);
            }
        }
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
    Random random(1);
    test_rows(random);
    test_one_example();
    test_degrees(random);
    for (const bool wide : {false, true}) test_far(wide);
    test_known_rows(random);
    test_encoding(random);
    test_encoding_of_sparse(random);
    test_encoding_of_large_inputs(random);
    test_sources(random);
    return report(kernels().isa);
}
