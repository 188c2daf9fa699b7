// Training in mini-batches (thesis 3.4). The work on a batch is divided into slices, which the
// threads share: some examples or some units of a layer, whichever a matrix product divides better,
// and blocks of weights for gradients and updates. The number of slices is fixed, so the result
// does not depend on the number of threads.
#pragma once

#include "widemargin/base/team.hpp"
#include "widemargin/mlp/network_updates.hpp"

namespace widemargin::WIDEMARGIN_ISA {

constexpr std::size_t kBatchChunkExamples = 1024;  // at most, whose layers are in memory at once
constexpr std::size_t kScoreChunkExamples = 256;
constexpr std::size_t kCacheLineDoubles = kCacheLineBytes / sizeof(double);

enum class BatchWork { inputs, forward, criterion, backward };

// What is computed between two meetings of the threads. The slices of a stage are some of the
// examples, unless `by_units`.
struct BatchStage {
    BatchWork work;
    std::size_t layer = 0;
    bool by_units = false;
};

// Some of the weights of a layer, and the biases of its units if it has the first input.
struct WeightBlock {
    std::size_t layer;
    Range from, to;
};

template <class T>
class BatchTraining {
   public:
    BatchTraining(const Rows& rows, const Network& network, const Standardization& s,
                  const NetworkPass& pass)
        : pass_(pass),
          inputs_(rows, s),
          parameters_(static_cast<T*>(network.parameters)),
          batch_(std::max<std::size_t>(1, std::min(pass.batch, pass.count))),
          rows_(chunk_rows(batch_)),
          slices_(std::clamp<std::size_t>(pass.slices, 1, rows_)),
          network_(network, inputs_, rows_),
          gradient_(layers().back().end()),
          update_(network, pass.step),
          dropout_(pass.dropout, pass.seed),
          tallies_(slices_) {
        network_.prepare_backward(dropout_.active());
        if (network_.sparse()) network_.centre(parameters_, {0, layers()[0].outputs});
        for (std::size_t i = 0; i < slices_; ++i) {
            rooms_.emplace_back(pass.targets.columns + 2 * kCacheLineDoubles);
            bias_sums_.emplace_back();
            for (const auto& layer : layers()) bias_sums_[i].emplace_back(layer.outputs);
        }
        for (std::size_t k = 0; k < layers().size(); ++k) add_blocks(k);
        list_stages();
    }

    Tally train() {
        const auto threads = std::min(static_cast<std::size_t>(pass_.threads), slices_);
        with_team(static_cast<int>(threads), [&](int me, int team, Barrier& barrier) {
            std::int64_t t = pass_.step.steps;
            for (std::size_t first = 0; first < pass_.count; first += batch_) {
                const std::size_t n = std::min(batch_, pass_.count - first);
                visit_batch(pass_.order + first, n, ++t, static_cast<std::size_t>(me),
                            static_cast<std::size_t>(team), barrier);
            }
        });
        Tally total;
        for (const Tally& tally : tallies_) {
            total.updates += tally.updates;
            total.criterion += tally.criterion;
            total.errors += tally.errors;
            total.weight += tally.weight;
        }
        return total;
    }

   private:
    const Vector<LayerView<T>>& layers() const { return network_.layers(); }

    // Batches are visited in chunks of about the same size.
    static std::size_t chunk_rows(std::size_t batch) {
        const std::size_t chunks = (batch + kBatchChunkExamples - 1) / kBatchChunkExamples;
        return (batch + chunks - 1) / chunks;
    }

    // Divides the longer side of a matrix of weights; units, if the inputs are sparse.
    void add_blocks(std::size_t k) {
        const auto& layer = layers()[k];
        const bool sparse = k == 0 && network_.sparse();
        const bool units = sparse || layer.outputs > layer.inputs;
        const std::size_t parts = std::min(slices_, units ? layer.outputs : layer.inputs);
        for (std::size_t i = 0; i < parts; ++i) {
            const Range all_inputs{0, layer.inputs}, all_units{0, layer.outputs};
            blocks_.push_back({k, units ? all_inputs : Range::part(layer.inputs, i, parts),
                               units ? Range::part(layer.outputs, i, parts) : all_units});
        }
    }

    // A product is divided along the longer of its sides, examples or units: the matrix that all
    // slices read is then the smaller one.
    void list_stages() {
        using enum BatchWork;
        stages_.push_back({inputs});
        for (std::size_t k = 0; k < layers().size(); ++k) {
            const bool sparse = k == 0 && network_.sparse();
            stages_.push_back({forward, k, !sparse && layers()[k].outputs > rows_});
        }
        stages_.push_back({criterion});
        for (std::size_t k = layers().size(); --k > 0;) {
            stages_.push_back({backward, k, layers()[k].inputs > rows_});
        }
    }

    void visit_batch(const std::int64_t* order, std::size_t n, std::int64_t t, std::size_t me,
                     std::size_t team, Barrier& barrier) {
        ParameterUpdates<T> update = update_;
        update.begin(n, t);
        for (std::size_t first = 0; first < n; first += rows_) {
            const std::size_t count = std::min(rows_, n - first);
            const Dropout dropout = dropout_.at(t, first);
            for (std::size_t s = 0; s < stages_.size(); ++s) {
                for (std::size_t i = me; i < slices_; i += team) {
                    run(stages_[s], order + first, count, i, first == 0, dropout);
                }
                // A thread that has examples now and in the next stage needs no others.
                const bool last = s + 1 == stages_.size();
                if (last || stages_[s].by_units || stages_[s + 1].by_units) barrier.wait();
            }
            for (std::size_t i = me; i < blocks_.size(); i += team) {
                add_gradient(blocks_[i], order + first, count, first > 0);
                if (first + count == n) follow_gradient(blocks_[i], update);
            }
            barrier.wait();
        }
    }

    void run(const BatchStage& stage, const std::int64_t* order, std::size_t count, std::size_t i,
             bool first, const Dropout& dropout) {
        using enum BatchWork;
        const std::size_t k = stage.layer;
        const Range part = Range::part(count, i, slices_), all{0, count};
        const Range rows = stage.by_units ? all : part;
        if (stage.work == inputs) {
            network_.gather(order, rows);
        } else if (stage.work == forward) {
            const Range units = units_of(stage, layers()[k].outputs, i);
            network_.forward(parameters_, order, k, rows, units);
            if (dropout.active()) network_.leave_out(dropout, k, rows, units);
        } else if (stage.work == criterion) {
            if (first) {
                for (auto& sums : bias_sums_[i]) std::fill(sums.begin(), sums.end(), T{0});
            }
            derive_outputs(order, rows, i);
        } else {
            network_.backward(parameters_, k, rows, units_of(stage, layers()[k].inputs, i), dropout,
                              bias_sums_[i][k - 1].data());
        }
    }

    Range units_of(const BatchStage& stage, std::size_t units, std::size_t i) const {
        return stage.by_units ? Range::part(units, i, slices_) : Range{0, units};
    }

    // Replaces outputs by derivatives, and adds up those of each output.
    void derive_outputs(const std::int64_t* order, Range rows, std::size_t i) {
        const std::size_t outputs = network_.outputs();
        Tally tally = tallies_[i];  // in registers, not beside those of other threads
        T* sums = bias_sums_[i].back().data();
        for (std::size_t row = rows.first; row < rows.last; ++row) {
            T* f = network_.output(row);
            derive(pass_.targets, outputs, static_cast<std::size_t>(order[row]), f,
                   rooms_[i].data() + kCacheLineDoubles, tally);
            axpy(outputs, T{1}, f, sums);
        }
        tallies_[i] = tally;
    }

    void add_gradient(const WeightBlock& block, const std::int64_t* order, std::size_t count,
                      bool add) {
        T* dw = gradient_.data() + layers()[block.layer].first;
        network_.gradient(order, count, block.layer, block.from, block.to, add, dw);
    }

    // The parameters of a block follow their gradient, which is complete but for the biases.
    void follow_gradient(const WeightBlock& block, const ParameterUpdates<T>& update) {
        const std::size_t k = block.layer, n = layers()[k].outputs;
        const auto& layer = layers()[k];
        const double decay = k + 1 < layers().size() ? pass_.step.nu : pass_.step.mu;
        const bool biases = block.from.first == 0, sparse = k == 0 && network_.sparse();
        if (biases) {
            T* db = gradient_.data() + layer.bias();
            std::fill(db + block.to.first, db + block.to.last, T{0});
            for (const auto& sums : bias_sums_) {
                const T* part = sums[k].data() + block.to.first;
                axpy(block.to.count(), T{1}, part, db + block.to.first);
            }
            if (sparse) network_.add_centre(block.to, db, gradient_.data());
        }
        const auto follow = [&](std::size_t first, std::size_t last, double with_decay) {
            update(first, last, gradient_.data() + first, with_decay);
        };
        if (block.to.count() == n) {
            follow(layer.first + block.from.first * n, layer.first + block.from.last * n, decay);
        } else {
            for (std::size_t j = block.from.first; j < block.from.last; ++j) {
                const std::size_t row = layer.first + j * n;
                follow(row + block.to.first, row + block.to.last, decay);
            }
        }
        if (biases) follow(layer.bias() + block.to.first, layer.bias() + block.to.last, 0.0);
        if (sparse) network_.centre(parameters_, block.to);
    }

    const NetworkPass& pass_;
    const NetworkInputs inputs_;
    T* parameters_;
    std::size_t batch_, rows_, slices_;
    BackPropagation<T> network_;
    Vector<T> gradient_;
    ParameterUpdates<T> update_;
    Dropout dropout_;
    Vector<BatchStage> stages_;
    Vector<WeightBlock> blocks_;
    // of each slice
    Vector<Tally> tallies_;
    Vector<Vector<double>> rooms_;  // with a free cache line before and behind
    Vector<Vector<Vector<T>>> bias_sums_;
};

inline Tally network_batches(const Rows& rows, const Network& network, const Standardization& s,
                             const NetworkPass& pass) {
    return network.double_precision ? BatchTraining<double>(rows, network, s, pass).train()
                                    : BatchTraining<float>(rows, network, s, pass).train();
}

// f of all rows, count x outputs
template <class T>
void outputs_of(const Rows& rows, const Network& network, const Standardization& s, double* out,
                int threads) {
    const NetworkInputs inputs(rows, s);
    const auto* parameters = static_cast<const T*>(network.parameters);
    const std::size_t chunks = (rows.count + kScoreChunkExamples - 1) / kScoreChunkExamples;
    const int wanted =
        static_cast<int>(std::clamp<std::size_t>(chunks, 1, static_cast<std::size_t>(threads)));
    Vector<BackPropagation<T>> layers;
    layers.reserve(static_cast<std::size_t>(wanted));
    for (int t = 0; t < wanted; ++t) {
        layers.emplace_back(network, inputs, std::min(kScoreChunkExamples, rows.count));
    }
    with_team(wanted, [&](int me, int team, Barrier&) {
        auto& own = layers[static_cast<std::size_t>(me)];
        if (own.sparse()) own.centre(parameters, {0, own.layers()[0].outputs});
        std::int64_t order[kScoreChunkExamples];
        for (auto c = static_cast<std::size_t>(me); c < chunks;
             c += static_cast<std::size_t>(team)) {
            const std::size_t first = c * kScoreChunkExamples;
            const std::size_t n = std::min(kScoreChunkExamples, rows.count - first);
            for (std::size_t i = 0; i < n; ++i) order[i] = static_cast<std::int64_t>(first + i);
            own.gather(order, {0, n});
            for (std::size_t k = 0; k < own.layers().size(); ++k) {
                own.forward(parameters, order, k, {0, n}, {0, own.layers()[k].outputs});
            }
            const T* f = own.output(0);
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
