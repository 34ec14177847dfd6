// Case 13: reductions by indices: the gradient of an embedding, sums and maxima of a graph's edges by node, a softmax
// over each node's edges, a histogram. Results do not depend on the threads: each of two owns every other block of
// targets and takes their updates in order, or both fill parts of their own that are added up.
#include "limits.h"

namespace {

using Ids = std::vector<int32_t>;

uint32_t hash(uint32_t i) {
  i *= 0x85EBCA6Bu;
  i ^= i >> 13;
  i *= 0xC2B2AE35u;
  return i ^ i >> 16;
}
Ids drawn(long n, uint32_t seed, uint32_t below) {
  Ids ids(n);
  for (long i = 0; i < n; i++) ids[i] = int32_t(hash(uint32_t(i) + seed * 0x9E3779B9u) % below);
  return ids;
}

// f(i) for the i of which this worker owns the target, in order: blocks of 2^shift targets go to the workers in turn.
// A chunk's numbers are collected without branches, 16 at once.
template <class F>
INLINE void owned(const int32_t* ids, long n, int shift, int worker, F&& f) {
  constexpr long chunk = 2048;
  alignas(64) int32_t list[chunk + 16];
  const __m512i bit = _mm512_set1_epi32(1 << shift), mine = _mm512_set1_epi32(worker << shift);
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (long first = 0; first < n; first += chunk) {
    const long end = std::min(n, first + chunk);
    long count = 0;
    for (long i = first; i < end; i += 16) {
      const __mmask16 there = end - i < 16 ? __mmask16((1 << (end - i)) - 1) : 0xffff;
      const __m512i id = _mm512_maskz_loadu_epi32(there, ids + i);
      const __mmask16 own = _mm512_mask_cmpeq_epi32_mask(there, _mm512_and_si512(id, bit), mine);
      _mm512_storeu_si512(list + count,
                          _mm512_maskz_compress_epi32(own, _mm512_add_epi32(lanes, _mm512_set1_epi32(int(i)))));
      count += __builtin_popcount(own);
    }
    for (long k = 0; k < count; k++) f(long(list[k]));
  }
}
INLINE void fill(float* p, long n, float value) {
  for (long i = 0; i + 16 <= n; i += 16) _mm512_stream_ps(p + i, (__m512)all(value));
  for (long i = n / 16 * 16; i < n; i++) p[i] = value;
}

}  // namespace

// The gradient of sum(table[ids] * w), 64 columns.
static void embedding(const Ids& ids, const float* w, long vocabulary, float* gradient) {
  Barrier filled;
  pool.run([&](int t) {
    const long half = vocabulary / 2 * 64;
    fill(gradient + t * half, half, 0);
    _mm_sfence();
    filled.wait();
    owned(ids.data(), long(ids.size()), 4, t, [&](long i) {
      float* to = gradient + long(ids[i]) * 64;
      const float* from = w + i * 64;
      for (int c = 0; c < 64; c += 16) store(to + c, load(to + c) + load(from + c));
    });
  });
}

// out[to[e]] += x[from[e]] * w[e], 16 features.
static void graph_sum(const Ids& from, const Ids& to, const float* x, const float* w, long nodes, float* out) {
  Barrier filled;
  pool.run([&](int t) {
    const long half = nodes / 2 * 16;
    for (long i = t * half; i < (t + 1) * half; i += 16) store(out + i, all(0));
    filled.wait();
    owned(to.data(), long(to.size()), 6, t, [&](long e) {
      float* there = out + long(to[e]) * 16;
      store(there, load(there) + load(x + long(from[e]) * 16) * w[e]);
    });
  });
}
// The same of sorted targets: each thread has half of the edges, up to where a node begins; a sum stays in a register.
static void sorted_graph_sum(const Ids& from, const Ids& to, const float* x, const float* w, long nodes, float* out) {
  const long n = long(to.size());
  long middle = n / 2;
  while (middle < n && to[middle] == to[middle - 1]) middle++;
  const long node = middle < n ? to[middle] : nodes;
  pool.run([&](int t) {
    const long begin = t ? middle : 0, end = t ? n : middle, last = t ? nodes : node;
    long e = begin;
    for (long i = t ? node : 0; i < last; i++) {
      V sum = all(0);
      for (; e < end && to[e] == i; e++) sum = sum + load(x + long(from[e]) * 16) * w[e];
      store(out + i * 16, sum);
    }
  });
}

// parts[t] of two halves of the edges, combined into the first.
template <class F, class G>
static void in_parts(long n, long targets, float start, float* a, float* b, F&& add, G&& combine) {
  Barrier met;
  pool.run([&](int t) {
    float* part = t ? b : a;
    for (long i = 0; i < targets; i++) part[i] = start;
    add(part, t ? n / 2 : 0, t ? n : n / 2);
    met.wait();
    const long half = targets / 2;
    for (long i = t ? half : 0; i < (t ? targets : half); i++) a[i] = combine(a[i], b[i]);
  });
}
static void segment_max(const Ids& to, const float* s, long nodes, float* m, float* part) {
  in_parts(
      long(to.size()), nodes, -100, m, part,
      [&](float* p, long begin, long end) {
        for (long e = begin; e < end; e++) p[to[e]] = std::max(p[to[e]], s[e]);
      },
      [](float x, float y) { return std::max(x, y); });
}
// p[e] = exp(s[e] - max of its node) / the sum of these.
static void segment_softmax(const Ids& to, const float* s, long nodes, float* m, float* z, float* part, float* p) {
  const long n = long(to.size());
  segment_max(to, s, nodes, m, part);
  const auto at = [&](const float* of, long e) {
    return (V)_mm512_i32gather_ps(_mm512_loadu_si512(to.data() + e), of, 4);
  };
  in_parts(
      n, nodes, 0, z, part,
      [&](float* sums, long begin, long end) {
        for (long e = begin; e < end; e += 16) {
          store(p + e, exp(load(s + e) - at(m, e)));
          for (long k = e; k < e + 16; k++) sums[to[k]] += p[k];
        }
      },
      [](float x, float y) { return x + y; });
  pool.split(n, 16, [&](long begin, long end) {
    for (long e = begin; e < end; e += 16) store(p + e, load(p + e) / at(z, e));
  });
}

// Eight parts of 256 bins, in turns, so that equal bins beside each other do not wait.
static void histogram(const Ids& bins, const float* w, float* out) {
  constexpr int many = 4;
  static float parts[2][many][256];
  const long n = long(bins.size());
  pool.run([&](int t) {
    memset(parts[t], 0, sizeof parts[t]);
    for (long i = t ? n / 2 : 0, end = t ? n : n / 2; i < end; i += many)
      for (int k = 0; k < many; k++) parts[t][k][bins[i + k]] += w[i + k];
  });
  for (int i = 0; i < 256; i++) {
    float sum = 0;
    for (auto& of : parts)
      for (auto& part : of) sum += part[i];
    out[i] = sum;
  }
}

int main() {
  {
    constexpr long vocabulary = 50'000, tokens = 32 * 512;
    const Ids ids = drawn(tokens, 1, vocabulary / 4);
    Buffer w(tokens * 64), gradient(vocabulary * 64);
    w.fill(2);
    const std::string c = "embedding gradient, 50,000 x 64, 32 x 512 tokens";
    time_ms(c, "gradient", [&] { embedding(ids, w, vocabulary, gradient), keep(gradient.p); });
    check(c, "gradient", weighted(gradient, gradient.n));
  }
  constexpr long edges = 1'000'000, nodes = 100'000;
  Buffer w(edges), s(edges), x(nodes * 16), out(nodes * 16), m(nodes), z(nodes), part(nodes), p(edges);
  w.fill(3), s.fill(4), x.fill(5);
  const Ids from = drawn(edges, 6, nodes), unsorted = drawn(edges, 7, nodes);
  Ids sorted = unsorted;
  std::sort(sorted.begin(), sorted.end());
  for (const Ids* to : std::initializer_list<const Ids*>{&unsorted, &sorted}) {
    const std::string c = to == &sorted ? "graph, 1e6 edges, sorted" : "graph, 1e6 edges";
    const auto sum = to == &sorted ? sorted_graph_sum : graph_sum;
    time_ms(c, "sum of 16 features", [&] { sum(from, *to, x, w, nodes, out), keep(out.p); });
    check(c, "sum of 16 features", weighted(out, out.n));
    time_ms(c, "segment max", [&] { segment_max(*to, s, nodes, m, part), keep(m.p); });
    check(c, "segment max", weighted(m, m.n));
    time_ms(c, "segment softmax", [&] { segment_softmax(*to, s, nodes, m, z, part, p), keep(p.p); });
    check(c, "segment softmax", weighted(p, p.n));
  }
  {
    constexpr long n = 10'000'000;
    const Ids bins = drawn(n, 8, 256);
    Buffer weights(n), sums(256);
    weights.fill(9);
    const std::string c = "histogram, 1e7 values, 256 bins";
    time_ms(c, "weighted", [&] { histogram(bins, weights, sums), keep(sums.p); });
    check(c, "weighted", weighted(sums, 256));
  }
  return 0;
}
