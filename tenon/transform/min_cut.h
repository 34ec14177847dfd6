// Minimum cut of a small directed graph: which residuals to save.
#pragma once

#include <cstdint>
#include <vector>

namespace tenon {

// Dinic's algorithm (1970): O(V²·E) at worst; on the graphs of programs, whose paths are short, close to linear.
class FlowGraph {
 public:
  static constexpr std::int64_t unbounded = std::int64_t(1) << 50;
  explicit FlowGraph(std::size_t nodes) : edges_of_(nodes) {}
  void add_edge(std::size_t from, std::size_t to, std::int64_t capacity);

  // Nodes on the sink's side of the minimum cut that lies closest to the sink.
  std::vector<bool> sink_side(std::size_t source, std::size_t sink);

 private:
  struct Edge {
    std::size_t to;
    std::int64_t capacity;  // what is left
  };
  bool level(std::size_t source, std::size_t sink);
  std::int64_t push(std::size_t source, std::size_t sink);

  std::vector<Edge> edges_;  // edge i and its reverse i ^ 1
  std::vector<std::vector<std::size_t>> edges_of_;
  std::vector<int> level_;
  std::vector<std::size_t> next_;
};

}  // namespace tenon
