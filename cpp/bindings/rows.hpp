// Examples that Python owns, and checks of arguments that belong to them.
#pragma once

#include <memory>

#include "arrays.hpp"
#include "widemargin/base/buffer.hpp"

namespace widemargin {

constexpr std::size_t kMostColumns = std::size_t{1} << 31;

// Packed examples work only in training.
inline void require_plain(const Rows& x) {
    require(x.layout != Layout::packed, "packed examples cannot be read here");
}

// Mean and scale of inputs that are not packed.
inline Standardization plain_standardization(const Rows& x,
                                             const std::optional<Vector<const double>>& mean,
                                             const std::optional<Vector<const double>>& scale) {
    require(mean.has_value() == scale.has_value(), "mean and scale go together");
    require(!mean || (mean->shape(0) == x.width && scale->shape(0) == x.width),
            "mean and scale must have one entry per input");
    return {data_or_null(mean), data_or_null(scale)};
}

// Mean and scale of inputs that may be packed: then they are scaled already, and mean is the
// centre.
inline Standardization standardization_of(const Rows& x,
                                          const std::optional<Vector<const double>>& mean,
                                          const std::optional<Vector<const double>>& scale) {
    require(!mean || !x.starts, "sparse examples must be packed to be standardised");
    require(scale.has_value() == (mean.has_value() && x.layout != Layout::packed),
            "mean and scale go together, but packed examples are scaled already");
    require((!mean || mean->shape(0) == x.width) && (!scale || scale->shape(0) == x.width),
            "mean and scale must have one entry per input");
    return {data_or_null(mean), data_or_null(scale)};
}

// Examples that Python owns. Every index is checked here, once, so that loops need not do it.
class RowsHandle {
   public:
    template <class T>
    static RowsHandle dense(Matrix<const T> x) {
        const auto layout = sizeof(T) == 4 ? Layout::dense32 : Layout::dense64;
        return {{layout, x.data(), nullptr, nullptr, x.shape(0), x.shape(1)}, {nb::cast(x)}};
    }

    template <class T>
    static RowsHandle sparse(Vector<const T> values, Vector<const std::int32_t> columns,
                             Vector<const std::int64_t> starts, std::size_t width) {
        require(starts.shape(0) >= 1, "indptr is empty; a CSR matrix has n_rows + 1 entries");
        const std::size_t count = starts.shape(0) - 1;
        require(starts(0) == 0, "indptr must start with 0");
        for (std::size_t l = 0; l < count; ++l) {
            require(starts(l) <= starts(l + 1), "indptr must not decrease");
        }
        const auto stored = static_cast<std::size_t>(starts(count));
        require(stored <= columns.shape(0) && stored <= values.shape(0),
                "indptr points behind the end of indices or data");
        const std::int32_t* j = columns.data();
        bool inside = true;
        for (std::size_t i = 0; i < stored; ++i) {  // no early exit, so that it is vectorised
            inside &= static_cast<std::uint32_t>(j[i]) < std::min(width, kMostColumns);
        }
        require(inside, "a column index is outside the matrix");
        const auto layout = sizeof(T) == 4 ? Layout::sparse32 : Layout::sparse64;
        return {{layout, values.data(), columns.data(), starts.data(), count, width},
                {nb::cast(values), nb::cast(columns), nb::cast(starts)}};
    }

    // Packed for training, with the inputs at new places, in `bytes` of at least `packed_bytes()`.
    static RowsHandle packed(const RowsHandle& rows, Vector<const double> y,
                             std::optional<Vector<const double>> weights,
                             std::optional<Vector<const double>> mean,
                             std::optional<Vector<const double>> scale,
                             Vector<const std::int32_t> places, std::size_t dense_inputs,
                             Vector<std::int32_t> lines, Vector<unsigned char> bytes) {
        const Rows& x = rows.view_;
        require(y.shape(0) == x.count, "y must have one entry per example");
        for (std::size_t l = 0; l < x.count; ++l) {
            require(static_cast<float>(y(l)) == y(l), "y must hold classes or +-1 to be packed");
        }
        require(!weights || weights->shape(0) == x.count,
                "weights must have one entry per example");
        const Standardization s = plain_standardization(x, mean, scale);
        require(lines.shape(0) == x.count + 1, "lines must have one entry more than examples");
        require(bytes.shape(0) >= rows.packed_bytes(places, dense_inputs), "bytes is too small");
        void* first = bytes.data();
        std::size_t space = bytes.shape(0);
        first = std::align(kCacheLineBytes, space - kCacheLineBytes + 1, first, space);
        loops().pack(x, y.data(), data_or_null(weights),
                     {dense_inputs, places.data(), s.mean, s.scale}, lines.data(),
                     static_cast<unsigned char*>(first));
        return {{Layout::packed, first, lines.data(), nullptr, x.count, x.width, dense_inputs},
                {nb::cast(bytes), nb::cast(lines)}};
    }

    // Whole cache lines, and what it takes to begin at one.
    std::size_t packed_bytes(Vector<const std::int32_t> places, std::size_t dense_inputs) const {
        require_plain(view_);
        require(places.shape(0) == view_.width, "places must have one entry per input");
        std::vector<bool> taken(view_.width);
        for (std::size_t j = 0; j < view_.width; ++j) {
            const auto at = static_cast<std::size_t>(places(j));
            require(places(j) >= 0 && at < view_.width && !taken[at],
                    "places must be a permutation of the inputs");
            taken[at] = true;
        }
        require(dense_inputs <= view_.width, "dense_inputs is larger than the number of inputs");
        const std::size_t lines =
            loops().pack(view_, nullptr, nullptr, {dense_inputs, places.data(), nullptr, nullptr},
                         nullptr, nullptr);
        require(lines < (std::size_t{1} << 31), "too many examples to pack");
        return lines * kCacheLineBytes + kCacheLineBytes - 1;
    }

    const Rows& view() const { return view_; }

    // For Python's garbage collector (arrays.hpp).
    void visit_owners(OwnerVisitor& visitor) const {
        for (const nb::object& owner : owners_) visitor(owner);
    }
    void drop_owners() {
        view_ = {Layout::dense64, nullptr, nullptr, nullptr, 0, 0};
        owners_.clear();
    }

   private:
    RowsHandle(Rows view, std::vector<nb::object> owners)
        : view_(view), owners_(std::move(owners)) {}

    Rows view_;
    std::vector<nb::object> owners_;  // keeps NumPy's memory alive
};

// Requires that the examples of an order exist.
template <class Order>
void require_order(const Order& order, const Rows& x) {
    const std::int64_t* l = order.data();
    bool exist = true;
    for (std::size_t i = 0; i < order.shape(0); ++i) {  // no early exit, so that it is vectorised
        exist &= static_cast<std::uint64_t>(l[i]) < x.count;
    }
    require(exist, "order names an example that does not exist");
}

}  // namespace widemargin
