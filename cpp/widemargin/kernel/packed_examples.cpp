#include "widemargin/kernel/packed_examples.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "widemargin/rows/stored_rows.hpp"

namespace widemargin {

PackedExamples::PackedExamples(const Selection& examples, const Encoding& encoding) {
    view_.double_precision = encoding.double_precision;
    view_.count = examples.count;
    if (encoding.sparse) {
        view_.width = encoding.width;
        view_.cancels = encoding.cancels;
        encoding.double_precision ? compress<double>(examples, encoding)
                                  : compress<float>(examples, encoding);
    } else {
        view_.width = encoding.inputs.size();
        view_.words = encoding.words();
        view_.bit_weight = encoding.bit_weight;
        view_.groups = encoding.groups.size();
        encoding.double_precision ? fill<double>(examples, encoding)
                                  : fill<float>(examples, encoding);
        cost_ = 2.0 * static_cast<double>(view_.width) + 3.0 * static_cast<double>(view_.words) +
                4.0 * static_cast<double>(view_.groups) + 16.0;
    }
    set_pointers();
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
    RowReader read(encoding.width);
    for (std::size_t i = 0; i < slots; ++i) {
        const double* x = read(*examples.rows, examples.order[i < examples.count ? i : 0]);
        const std::size_t block = i / kBlock, lane = i % kBlock;
        for (std::size_t j = 0; j < view_.width; ++j) {
            const auto& [column, offset] = encoding.inputs[j];
            inputs[(block * view_.width + j) * kBlock + lane] = static_cast<T>(x[column] - offset);
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
void PackedExamples::compress(const Selection& examples, const Encoding& encoding) {
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
    auto* values = reinterpret_cast<T*>(values_.data());
    std::size_t at = 0;
    for (std::size_t i = 0; i < examples.count; ++i) {
        for_stored(*examples.rows, static_cast<std::size_t>(examples.order[i]),
                   [&](double x, std::size_t j) {
                       if (x == 0.0) return;
                       values[at] = static_cast<T>(x);
                       columns_[at++] = static_cast<std::int32_t>(j);
                   });
    }
    if (encoding.pairing != Pairing::product || !encoding.centre.empty()) set_terms<T>(encoding);
    cost_ = 2.0 * static_cast<double>(stored) /
                static_cast<double>(std::max<std::size_t>(1, examples.count)) +
            40.0;
}

// t of every example, see PackedView; 0 for those that fill up the last block.
template <class T>
void PackedExamples::set_terms(const Encoding& encoding) {
    terms_ = Buffer<unsigned char>(blocks() * kBlock * sizeof(T));
    auto* terms = reinterpret_cast<T*>(terms_.data());
    const auto* values = reinterpret_cast<const T*>(values_.data());
    double half = 0.0;  // ||c||^2 / 2
    for (const double c : encoding.centre) half += 0.5 * c * c;
    for (std::size_t i = 0; i < blocks() * kBlock; ++i) {
        T norm = 0;
        double product = half;
        const std::size_t l = std::min(i, view_.count);
        for (std::int64_t k = starts_[l]; i < view_.count && k < starts_[l + 1]; ++k) {
            if (encoding.pairing == Pairing::squared_distance) {
                norm = std::fma(values[k], values[k], norm);
            } else if (encoding.pairing == Pairing::absolute_distance) {
                norm += std::abs(values[k]);
            } else {
                product -= static_cast<double>(values[k]) *
                           encoding.centre[static_cast<std::size_t>(columns_[k])];
            }
        }
        terms[i] = encoding.pairing == Pairing::product ? static_cast<T>(product) : norm;
    }
}

// Some examples of [block][input][kBlock], in blocks of their own; copies of the first fill up the
// last.
template <class T, class Stored>
Buffer<Stored> gathered(const Buffer<Stored>& buffer, std::size_t inputs, const std::int64_t* index,
                        std::size_t count) {
    const std::size_t slots = rounded_to_blocks(count);
    Buffer<Stored> result(slots * inputs * sizeof(T) / sizeof(Stored));
    const T* from = reinterpret_cast<const T*>(buffer.data());
    T* to = reinterpret_cast<T*>(result.data());
    for (std::size_t i = 0; i < slots; ++i) {
        const auto l = static_cast<std::size_t>(index[i < count ? i : 0]);
        for (std::size_t j = 0; j < inputs; ++j) {
            to[(i / kBlock * inputs + j) * kBlock + i % kBlock] =
                from[(l / kBlock * inputs + j) * kBlock + l % kBlock];
        }
    }
    return result;
}

template <class T>
void PackedExamples::gather_blocks(const PackedExamples& from, const std::int64_t* index) {
    inputs_ = gathered<T>(from.inputs_, view_.width, index, view_.count);
    categories_ = gathered<T>(from.categories_, view_.groups, index, view_.count);
    weights_ = gathered<T>(from.weights_, view_.groups, index, view_.count);
    bits_ = gathered<std::uint32_t>(from.bits_, view_.words, index, view_.count);
}

template <class T>
void PackedExamples::gather_rows(const PackedExamples& from, const std::int64_t* index) {
    starts_ = Buffer<std::int64_t>(view_.count + 1);
    starts_[0] = 0;
    for (std::size_t i = 0; i < view_.count; ++i) {
        const auto l = static_cast<std::size_t>(index[i]);
        starts_[i + 1] = starts_[i] + from.starts_[l + 1] - from.starts_[l];
    }
    const auto stored = static_cast<std::size_t>(starts_[view_.count]);
    values_ = Buffer<unsigned char>(stored * sizeof(T));
    columns_ = Buffer<std::int32_t>(stored);
    if (from.terms_.size() > 0) terms_ = gathered<T>(from.terms_, 1, index, view_.count);
    for (std::size_t i = 0; i < view_.count; ++i) {
        const auto l = static_cast<std::size_t>(index[i]);
        const auto source = static_cast<std::size_t>(from.starts_[l]);
        const auto target = static_cast<std::size_t>(starts_[i]);
        const auto n = static_cast<std::size_t>(from.starts_[l + 1]) - source;
        if (n == 0) continue;
        std::memcpy(values_.data() + target * sizeof(T), from.values_.data() + source * sizeof(T),
                    n * sizeof(T));
        std::memcpy(columns_.data() + target, from.columns_.data() + source,
                    n * sizeof(std::int32_t));
    }
}

PackedExamples PackedExamples::gather(const std::int64_t* index, std::size_t count) const {
    PackedExamples some;
    some.view_ = view_;
    some.view_.count = count;
    some.cost_ = cost_;
    if (view_.values) {
        view_.double_precision ? some.gather_rows<double>(*this, index)
                               : some.gather_rows<float>(*this, index);
    } else {
        view_.double_precision ? some.gather_blocks<double>(*this, index)
                               : some.gather_blocks<float>(*this, index);
    }
    some.set_pointers();
    return some;
}

std::size_t PackedExamples::bytes() const {
    return inputs_.size() + categories_.size() + weights_.size() + values_.size() + terms_.size() +
           4 * (bits_.size() + columns_.size()) + 8 * starts_.size();
}

void PackedExamples::set_pointers() {
    view_.inputs = inputs_.data();
    view_.bits = bits_.data();
    view_.categories = categories_.data();
    view_.weights = weights_.data();
    view_.values = starts_.size() > 0 ? values_.data() : nullptr;
    view_.columns = columns_.data();
    view_.starts = starts_.data();
    view_.terms = terms_.size() > 0 ? terms_.data() : nullptr;
}

}  // namespace widemargin
