// A Program beside what its inputs are drawn from, so that transformations apply to both and can be nested.
#pragma once

#include "tenon/transform/gradient.h"
#include "tests/ops/checks.h"

namespace tenon::sample {

struct Subject {
  ProgramRef program;
  Inputs inputs;
  Mask common = {};  // inputs that must not differ from lane to lane
};

// Tangents and cotangents are drawn from [-1, 1].
inline Subject jvp_of(const Subject& s) {
  const Mask in = active_in(*s.program);
  return {jvp(s.program, in, active_out(*s.program)),
          [s, in] {
            std::vector<Value> all = s.inputs();
            for (std::size_t i = 0; i < in.size(); ++i)
              if (in[i]) all.emplace_back(random_buffer(type_of(all[i]), {-1, 1}));
            return all;
          },
          s.common};
}

inline Subject vjp_of(const Subject& s) {
  const Mask out = active_out(*s.program);
  return {pullback(s.program, active_in(*s.program), out),
          [s, out] {
            std::vector<Value> all = s.inputs();
            const std::vector<Value> outputs = run(s.program, all);  // of sizes that data may decide
            for (std::size_t i = 0; i < out.size(); ++i)
              if (out[i]) all.emplace_back(random_buffer(type_of(outputs[i]), {-1, 1}));
            return all;
          },
          s.common};
}

// Values of one type as one value with an axis more in front.
inline Buffer stacked(std::span<const Buffer> lanes) {
  std::vector<std::int64_t> dims{static_cast<std::int64_t>(lanes.size())};
  dims.insert(dims.end(), lanes[0].dims().begin(), lanes[0].dims().end());
  Buffer all = Buffer::allocate(lanes[0].dtype(), dims);
  std::byte* to = all.data();
  for (const Buffer& lane : lanes) {
    if (lane.bytes() > 0) std::memcpy(to, lane.contiguous_copy().data(), lane.bytes());
    to += lane.bytes();
  }
  return all;
}

// Every input that may be is batched, or every second one.
inline Mask batched_inputs(const Subject& s, bool every_second) {
  Mask in(s.program->inputs().size(), true);
  for (std::size_t i = 1; every_second && i < in.size(); i += 2) in[i] = false;
  for (std::size_t i = 0; i < s.common.size(); ++i) in[i] = in[i] && !s.common[i];
  return in;
}
inline Subject vmap_of(const Subject& s, std::size_t lanes = 3, bool every_second = false) {
  const Mask in = batched_inputs(s, every_second), out(s.program->outputs().size(), true);
  return {vmap(s.program, in, out, Dim(static_cast<std::int64_t>(lanes))),
          [s, in, lanes] {
            std::vector<std::vector<Value>> drawn;
            for (std::size_t l = 0; l < lanes; ++l) drawn.push_back(s.inputs());
            std::vector<Value> all;
            for (std::size_t i = 0; i < in.size(); ++i) {
              std::vector<Buffer> one;
              for (const auto& lane : drawn) one.push_back(std::get<Buffer>(lane[i]));
              all.emplace_back(in[i] ? stacked(one) : one[0]);
            }
            return all;
          },
          s.common};
}

}  // namespace tenon::sample
