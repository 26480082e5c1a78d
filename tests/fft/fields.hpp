#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "sidestream/core/for_each.hpp"
#include "sidestream/core/random.hpp"
#include "sidestream/fft/fft_plan.hpp"

namespace sidestream::fft {

using mesh::Box;
using mesh::Field;
using mesh::Int3;
using mesh::Layout;

inline double noise(const Box& domain, Int3 cell) {
  return core::normal(7, 0, static_cast<std::uint64_t>(linear_index(domain, cell)));
}

template <typename T, typename F>
void fill(Field<T>& field, F value) {
  for (int b = 0; b < field.blocks(); ++b) {
    const auto view = field.view(b);
    core::for_each_cell(field.box(b), [&](int k, int j, int i) {
      view(k, j, i) = static_cast<T>(value(Int3{i, j, k}));
    });
  }
}

inline Field<double> noise_on(const Layout& layout, int rank, std::int32_t ghost = 0) {
  Field<double> field(layout, rank, 1, ghost);
  fill(field, [&](Int3 cell) { return noise(layout.domain(), cell); });
  return field;
}

// Blocks of uneven sizes, dealt like cards.
inline Layout scattered_blocks(Int3 cells, int ranks) {
  const Layout blocks =
      split(mesh::domain_of(cells), {std::min(cells.x, 3), std::min(cells.y, 2), std::min(cells.z, 3)});
  std::vector<std::int32_t> rank_of;
  for (int i = 0; i < blocks.size(); ++i) rank_of.push_back(i % ranks);
  return blocks.renumbered(rank_of);
}

inline Layout one_block(Int3 cells) {
  return split(mesh::domain_of(cells), {1, 1, 1});
}

// All numbers of a component of a field, of all ranks, in the order of the domain: their bits, added as integers to
// zeros elsewhere.
template <typename T>
std::vector<T> gathered(const comm::Communicator& comm, const Field<T>& field, int component = 0) {
  constexpr std::size_t words = sizeof(T) / sizeof(std::int64_t);
  const Box& domain = field.layout().domain();
  std::vector<T> all(static_cast<std::size_t>(domain.volume()));
  const std::span<std::int64_t> bits(reinterpret_cast<std::int64_t*>(all.data()), all.size() * words);
  for (int b = 0; b < field.blocks(); ++b) {
    const auto view = field.view(b);
    core::for_each_cell(field.box(b), [&](int k, int j, int i) {
      all[static_cast<std::size_t>(linear_index(domain, {i, j, k}))] = view(component, k, j, i);
    });
  }
  comm.sum(bits);
  return all;
}

template <typename T>
bool have_equal_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <typename T>
bool have_same_memory(const Field<T>& a, const Field<T>& b) {
  return std::ranges::equal(std::as_bytes(a.all()), std::as_bytes(b.all()));
}

// Noise in several components, all of them different.
inline Field<double> components_of_noise(const Layout& layout, int rank, int components, std::int32_t ghost) {
  Field<double> field(layout, rank, components, ghost);
  for (int b = 0; b < field.blocks(); ++b)
    core::for_each_cell(field.box(b), [&, view = field.view(b)](int k, int j, int i) {
      for (int c = 0; c < components; ++c) view(c, k, j, i) = noise(layout.domain(), {i, j, k}) * (c + 0.1);
    });
  return field;
}

// What a transform makes of a field, and what the one back makes of that.
struct ThereAndBack {
  Field<std::complex<double>> modes;
  Field<double> back;
};

inline void expect_same(const ThereAndBack& a, const ThereAndBack& b, const std::string& what = "") {
  EXPECT_TRUE(have_same_memory(a.modes, b.modes)) << what;
  EXPECT_TRUE(have_same_memory(a.back, b.back)) << what;
}

}  // namespace sidestream::fft
