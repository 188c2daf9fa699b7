// Examples prepared for rows of the kernel: blocks with their encoded inputs. Compiled once; the
// loops see a PackedView.
#pragma once

#include "widemargin/base/buffer.hpp"
#include "widemargin/kernel/encoding.hpp"

namespace widemargin {

// How many blocks n examples take, and how many places these have.
inline std::size_t blocks_of(std::size_t n) {
    return (n + kBlock - 1) / kBlock;
}
inline std::size_t rounded_to_blocks(std::size_t n) {
    return blocks_of(n) * kBlock;
}

class PackedExamples {
   public:
    PackedExamples(const Selection& examples, const Encoding& encoding);

    // Some of the examples, in this order, in blocks of their own.
    PackedExamples gather(const std::int64_t* index, std::size_t count) const;

    const PackedView& view() const { return view_; }
    std::size_t blocks() const { return blocks_of(view_.count); }
    std::size_t bytes() const;
    // The cost of one value of the kernel, in register operations per block.
    double cost() const { return cost_; }

   private:
    PackedExamples() = default;
    void set_pointers();
    template <class T>
    void fill(const Selection& examples, const Encoding& encoding);
    template <class T>
    void compress(const Selection& examples, const Encoding& encoding);
    template <class T>
    void set_terms(const Encoding& encoding);
    template <class T>
    void gather_blocks(const PackedExamples& from, const std::int64_t* index);
    template <class T>
    void gather_rows(const PackedExamples& from, const std::int64_t* index);

    PackedView view_{};
    double cost_ = 1.0;
    Buffer<unsigned char> inputs_, categories_, weights_, values_, terms_;
    Buffer<std::uint32_t> bits_;
    Buffer<std::int32_t> columns_;
    Buffer<std::int64_t> starts_;
};

}  // namespace widemargin
