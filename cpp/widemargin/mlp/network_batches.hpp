// Training in mini-batches (thesis 3.4): every thread takes a slice of the batch, then a slice of
// the parameters. Sums are computed in the same order by whatever thread, so a result depends only
// on the number of slices.
#pragma once

#include "widemargin/base/team.hpp"
#include "widemargin/mlp/network_updates.hpp"

namespace widemargin::WIDEMARGIN_ISA {

constexpr std::size_t kMinSliceExamples = 16;  // fewer are not worth waiting for a thread
constexpr std::size_t kCacheLineDoubles = kCacheLineBytes / sizeof(double);

// Where the i-th of `slices` slices of 0..count-1 begins.
inline std::size_t slice_begin(std::size_t count, std::size_t i, std::size_t slices) {
    return count * i / slices;
}

// The gradient of a slice of a batch.
template <class T>
class BatchSlice {
   public:
    BatchSlice(const Network& network, const NetworkInputs& inputs, const NetworkTargets& targets,
               std::size_t rows)
        : parameters_(static_cast<const T*>(network.parameters)),
          targets_(targets),
          rows_(std::min(rows, kChunkExamples)),
          network_(network, inputs, rows_),
          gradient_(network_.layers().back().end()),
          room_(targets.columns + 2 * kCacheLineDoubles) {}

    // Computes the sum of the gradients of these examples.
    void visit(const std::int64_t* order, std::size_t count) {
        Tally tally = tally_;  // in registers, not beside those of other threads
        network_.begin(parameters_);
        for (std::size_t first = 0; first < count; first += rows_) {
            const std::size_t n = std::min(rows_, count - first);
            const std::size_t outputs = network_.outputs();
            T* f = network_.forward(parameters_, order + first, n);
            for (std::size_t i = 0; i < n; ++i) {
                const auto l = static_cast<std::size_t>(order[first + i]);
                derive(targets_, outputs, l, f + i * outputs, room_.data() + kCacheLineDoubles,
                       tally);
            }
            network_.backward(parameters_, order + first, n, first == 0, gradient_.data());
        }
        if (count == 0) std::fill(gradient_.begin(), gradient_.end(), T{0});
        network_.finish(gradient_.data());
        tally_ = tally;
    }

    T* gradient() { return gradient_.data(); }
    const Tally& tally() const { return tally_; }

   private:
    const T* parameters_;
    const NetworkTargets& targets_;
    std::size_t rows_;
    BackPropagation<T> network_;
    Vector<T> gradient_;
    Vector<double> room_;  // with a free cache line before and behind: other threads write there
    Tally tally_;
};

template <class T>
Tally batches(const Rows& rows, const Network& network, const Standardization& s,
              const NetworkPass& pass) {
    const NetworkInputs inputs(rows, s);
    const std::size_t batch = std::min(pass.batch, pass.count);
    const std::size_t count = std::clamp<std::size_t>(batch / kMinSliceExamples, 1,
                                                      static_cast<std::size_t>(pass.threads));
    Vector<BatchSlice<T>> slices;
    Vector<T*> gradients;
    slices.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        slices.emplace_back(network, inputs, pass.targets, (batch + count - 1) / count);
        gradients.push_back(slices.back().gradient());
    }
    ParameterUpdates<T> update(network, pass.step, gradients);
    with_team(static_cast<int>(count), [&](int me, int team, Barrier& barrier) {
        const auto mine = static_cast<std::size_t>(me), step = static_cast<std::size_t>(team);
        std::int64_t t = pass.step.steps;
        for (std::size_t first = 0; first < pass.count; first += batch) {
            const std::size_t n = std::min(batch, pass.count - first);
            for (std::size_t i = mine; i < count; i += step) {
                const std::size_t begin = slice_begin(n, i, count);
                slices[i].visit(pass.order + first + begin, slice_begin(n, i + 1, count) - begin);
            }
            barrier.wait();
            ++t;
            for (std::size_t i = mine; i < count; i += step) {
                update(slice_begin(update.count(), i, count),
                       slice_begin(update.count(), i + 1, count), n, t);
            }
            barrier.wait();
        }
    });
    Tally tally;
    for (const auto& slice : slices) {
        tally.updates += slice.tally().updates;
        tally.criterion += slice.tally().criterion;
        tally.errors += slice.tally().errors;
        tally.weight += slice.tally().weight;
    }
    return tally;
}

inline Tally network_batches(const Rows& rows, const Network& network, const Standardization& s,
                             const NetworkPass& pass) {
    return network.double_precision ? batches<double>(rows, network, s, pass)
                                    : batches<float>(rows, network, s, pass);
}

// f of all rows, count x outputs
template <class T>
void outputs_of(const Rows& rows, const Network& network, const Standardization& s, double* out,
                int threads) {
    const NetworkInputs inputs(rows, s);
    const auto* parameters = static_cast<const T*>(network.parameters);
    const std::size_t chunks = (rows.count + kChunkExamples - 1) / kChunkExamples;
    const int wanted =
        static_cast<int>(std::clamp<std::size_t>(chunks, 1, static_cast<std::size_t>(threads)));
    Vector<BackPropagation<T>> layers;
    layers.reserve(static_cast<std::size_t>(wanted));
    for (int t = 0; t < wanted; ++t) {
        layers.emplace_back(network, inputs, std::min(kChunkExamples, rows.count));
    }
    with_team(wanted, [&](int me, int team, Barrier&) {
        auto& own = layers[static_cast<std::size_t>(me)];
        own.begin(parameters);
        std::int64_t order[kChunkExamples];
        for (auto c = static_cast<std::size_t>(me); c < chunks;
             c += static_cast<std::size_t>(team)) {
            const std::size_t first = c * kChunkExamples;
            const std::size_t n = std::min(kChunkExamples, rows.count - first);
            for (std::size_t i = 0; i < n; ++i) order[i] = static_cast<std::int64_t>(first + i);
            const T* f = own.forward(parameters, order, n);
            std::copy(f, f + n * own.outputs(), out + first * own.outputs());
        }
    });
}

inline void network_outputs(const Rows& rows, const Network& network, const Standardization& s,
                            double* out, int threads) {
    if (network.double_precision) {
        outputs_of<double>(rows, network, s, out, threads);
    } else {
        outputs_of<float>(rows, network, s, out, threads);
    }
}

}  // namespace widemargin::WIDEMARGIN_ISA
