// Training in mini-batches (thesis 3.4): every thread takes a part of the batch, then every thread
// a part of the parameters. Sums are made in the same order whatever thread makes them, so a result
// depends on the number of parts alone.
#pragma once

#include "widemargin/mlp/network_updates.hpp"
#include "widemargin/base/team.hpp"

namespace widemargin::WIDEMARGIN_ISA {

constexpr std::size_t kSmallestPart = 16;  // examples; with fewer a thread is not worth waiting for
constexpr std::size_t kLineOfDoubles = kLine / sizeof(double);

inline std::size_t part_of(std::size_t count, std::size_t part, std::size_t parts) {
    return count * part / parts;
}

template <class T>
class Part {
   public:
    Part(const Network& network, const NetworkInputs& inputs, const NetworkTargets& targets,
         std::size_t rows)
        : parameters_(static_cast<const T*>(network.parameters)),
          targets_(targets),
          rows_(std::min(rows, kPanelRows)),
          panel_(network, inputs, rows_),
          gradient_(panel_.layers().back().end()),
          room_(targets.columns + 2 * kLineOfDoubles) {}

    // The sum of the gradients of these examples
    void visit(const std::int64_t* order, std::size_t count) {
        Tally tally = tally_;  // not where other threads have theirs
        panel_.begin(parameters_);
        for (std::size_t first = 0; first < count; first += rows_) {
            const std::size_t n = std::min(rows_, count - first);
            const std::size_t outputs = panel_.outputs();
            T* f = panel_.forward(parameters_, order + first, n);
            for (std::size_t i = 0; i < n; ++i) {
                const auto l = static_cast<std::size_t>(order[first + i]);
                derive(targets_, outputs, l, f + i * outputs, room_.data() + kLineOfDoubles, tally);
            }
            panel_.backward(parameters_, order + first, n, first == 0, gradient_.data());
        }
        if (count == 0) std::fill(gradient_.begin(), gradient_.end(), T{0});
        panel_.finish(gradient_.data());
        tally_ = tally;
    }

    T* gradient() { return gradient_.data(); }
    const Tally& tally() const { return tally_; }

   private:
    const T* parameters_;
    const NetworkTargets& targets_;
    std::size_t rows_;
    LayerPanel<T> panel_;
    std::vector<T> gradient_;
    std::vector<double> room_;  // with a cache line before and behind, where other threads write
    Tally tally_;
};

template <class T>
Tally batches(const Rows& rows, const Network& network, const Standardization& s,
              const NetworkPass& pass) {
    const NetworkInputs inputs(rows, s);
    const std::size_t batch = std::min(pass.batch, pass.count);
    const std::size_t parts =
        std::clamp<std::size_t>(batch / kSmallestPart, 1, static_cast<std::size_t>(pass.threads));
    std::vector<Part<T>> part;
    std::vector<T*> gradients;
    part.reserve(parts);
    for (std::size_t p = 0; p < parts; ++p) {
        part.emplace_back(network, inputs, pass.targets, (batch + parts - 1) / parts);
        gradients.push_back(part.back().gradient());
    }
    Updates<T> update(network, pass.step, gradients);
    with_team(static_cast<int>(parts), [&](int me, int team, Barrier& barrier) {
        std::int64_t t = pass.step.steps;
        for (std::size_t first = 0; first < pass.count; first += batch) {
            const std::size_t n = std::min(batch, pass.count - first);
            for (auto p = static_cast<std::size_t>(me); p < parts;
                 p += static_cast<std::size_t>(team)) {
                const std::size_t from = part_of(n, p, parts);
                part[p].visit(pass.order + first + from, part_of(n, p + 1, parts) - from);
            }
            barrier.wait();
            ++t;
            for (auto p = static_cast<std::size_t>(me); p < parts;
                 p += static_cast<std::size_t>(team)) {
                update(part_of(update.count(), p, parts), part_of(update.count(), p + 1, parts), n,
                       t);
            }
            barrier.wait();
        }
    });
    Tally tally;
    for (const auto& one : part) {
        tally.updates += one.tally().updates;
        tally.criterion += one.tally().criterion;
        tally.errors += one.tally().errors;
        tally.weight += one.tally().weight;
    }
    return tally;
}

inline Tally network_batches(const Rows& rows, const Network& network, const Standardization& s,
                             const NetworkPass& pass) {
    return network.wide ? batches<double>(rows, network, s, pass)
                        : batches<float>(rows, network, s, pass);
}

// f of all rows, count x outputs
template <class T>
void outputs_of(const Rows& rows, const Network& network, const Standardization& s, double* out,
                int threads) {
    const NetworkInputs inputs(rows, s);
    const auto* parameters = static_cast<const T*>(network.parameters);
    const std::size_t panels = (rows.count + kPanelRows - 1) / kPanelRows;
    const int wanted =
        static_cast<int>(std::clamp<std::size_t>(panels, 1, static_cast<std::size_t>(threads)));
    std::vector<LayerPanel<T>> panel;
    panel.reserve(static_cast<std::size_t>(wanted));
    for (int t = 0; t < wanted; ++t)
        panel.emplace_back(network, inputs, std::min(kPanelRows, rows.count));
    with_team(wanted, [&](int me, int team, Barrier&) {
        auto& own = panel[static_cast<std::size_t>(me)];
        own.begin(parameters);
        std::int64_t order[kPanelRows];
        for (auto p = static_cast<std::size_t>(me); p < panels;
             p += static_cast<std::size_t>(team)) {
            const std::size_t first = p * kPanelRows, n = std::min(kPanelRows, rows.count - first);
            for (std::size_t i = 0; i < n; ++i) order[i] = static_cast<std::int64_t>(first + i);
            const T* f = own.forward(parameters, order, n);
            std::copy(f, f + n * own.outputs(), out + first * own.outputs());
        }
    });
}

inline void network_outputs(const Rows& rows, const Network& network, const Standardization& s,
                            double* out, int threads) {
    if (network.wide) {
        outputs_of<double>(rows, network, s, out, threads);
    } else {
        outputs_of<float>(rows, network, s, out, threads);
    }
}

}  // namespace widemargin::WIDEMARGIN_ISA
