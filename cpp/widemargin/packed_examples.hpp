// Examples prepared for kernel rows: which inputs become numbers, bits or categories, and the
// blocks that hold them. Compiled once; the loops see a PackedView.
#pragma once

#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "widemargin/problem.hpp"

namespace widemargin {

constexpr std::size_t kHugePage = std::size_t{1} << 21;

// Asks for large pages where there are any: fewer faults, on virtual machines above all.
void prefer_huge_pages(void* data, std::size_t bytes);

// Memory from the start of a cache line, not filled: a page costs nothing before it is used.
template <class T>
class Buffer {
   public:
    Buffer() = default;
    explicit Buffer(std::size_t n) : size_(n) {
        const std::size_t bytes = n * sizeof(T);
        const auto at = std::align_val_t{bytes < kHugePage ? kLine : kHugePage};
        data_ = Memory(static_cast<T*>(::operator new[](bytes, at)), Free{at});
        if (bytes >= kHugePage) prefer_huge_pages(data_.get(), bytes);
    }

    T* data() const { return data_.get(); }
    std::size_t size() const { return size_; }
    T& operator[](std::size_t i) const { return data_.get()[i]; }

   private:
    struct Free {
        std::align_val_t at{kLine};
        void operator()(T* data) const { ::operator delete[](data, at); }
    };
    using Memory = std::unique_ptr<T[], Free>;
    Memory data_;
    std::size_t size_ = 0;
};

// What becomes of each input.
struct Encoding {
    bool wide = false;    // double, otherwise float
    bool sparse = false;  // compressed rows; then nothing else applies
    std::size_t width = 0;

    struct Input {
        std::int32_t column;
        double centre;  // subtracted
    };
    struct Flag {  // a two-valued input: 1 where it is not `off`
        std::int32_t column;
        double off;
    };
    struct Category {
        std::int32_t column;
        double off;
        double weight;  // (on - off)^2
    };
    std::vector<Input> inputs;
    std::vector<Flag> bits;
    double bit_weight = 0.0;
    std::vector<std::vector<Category>> groups;
};

// Examples by their numbers in a set of rows.
struct Selection {
    const Rows* rows;
    const std::int64_t* order;
    std::size_t count;
};

// The cheapest encoding of all the sets together. Unless `wide` says, float where it is enough.
Encoding choose_encoding(const KernelFunction& kernel, const std::vector<Selection>& sets,
                         std::optional<bool> wide);

class PackedExamples {
   public:
    PackedExamples(const Selection& examples, const Encoding& encoding);

    // Some of the examples, in this order, in blocks of their own.
    PackedExamples gather(const std::int64_t* index, std::size_t count) const;

    const PackedView& view() const { return view_; }
    std::size_t blocks() const { return (view_.count + kBlock - 1) / kBlock; }
    std::size_t bytes() const;
    // What one value of the kernel costs, in operations of a register a block.
    double cost() const { return cost_; }

   private:
    PackedExamples() = default;
    void point();
    template <class T>
    void fill(const Selection& examples, const Encoding& encoding);
    template <class T>
    void compress(const Selection& examples);

    PackedView view_{};
    double cost_ = 1.0;
    Buffer<unsigned char> inputs_, categories_, weights_, values_, norms_;
    Buffer<std::uint32_t> bits_;
    Buffer<std::int32_t> columns_;
    Buffer<std::int64_t> starts_;
};

}  // namespace widemargin
