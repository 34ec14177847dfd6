// Products of rows of channels, added up.
#pragma once

#include <cstdint>

namespace tenon {

struct ChannelTap {
  std::int64_t from, weights;  // where its rows begin
};

// made[p, i] = Σ from[outer + inner + i] weights[outer + inner + i] over the outer taps, and the inner ones of place p:
// begins[p] to begins[p + 1]. A place has `width` elements.
struct ChannelRow {
  const ChannelTap* outer;
  std::int64_t outers;
  const ChannelTap* inner;
  const std::int64_t* begins;
  std::int64_t places, width;
};
template <class T>
void sum_channel_row(const ChannelRow& row, const T* from, const T* weights, T* made);

// made[i] += Σ x[p · x_place + i] y[p · width + i] over the places p of a row.
template <class T>
void add_product_row(std::int64_t places, std::int64_t width, std::int64_t x_place, const T* x, const T* y, T* made);

}  // namespace tenon
