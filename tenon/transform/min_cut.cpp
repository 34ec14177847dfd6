#include "tenon/transform/min_cut.h"

#include <algorithm>

namespace tenon {

void FlowGraph::add_edge(std::size_t from, std::size_t to, std::int64_t capacity) {
  edges_of_[from].push_back(edges_.size());
  edges_.push_back({to, capacity});
  edges_of_[to].push_back(edges_.size());
  edges_.push_back({from, 0});
}

bool FlowGraph::level(std::size_t source, std::size_t sink) {
  level_.assign(edges_of_.size(), -1);
  level_[source] = 0;
  std::vector<std::size_t> queue{source};
  for (std::size_t at = 0; at < queue.size(); ++at)
    for (std::size_t e : edges_of_[queue[at]])
      if (edges_[e].capacity > 0 && level_[edges_[e].to] < 0) {
        level_[edges_[e].to] = level_[queue[at]] + 1;
        queue.push_back(edges_[e].to);
      }
  return level_[sink] >= 0;
}

// Depth first along the levels; `path` holds the edges taken, since paths may be as long as a Program.
std::int64_t FlowGraph::push(std::size_t source, std::size_t sink) {
  std::vector<std::size_t> path;
  std::size_t node = source;
  while (node != sink) {
    std::size_t& i = next_[node];
    while (i < edges_of_[node].size()) {
      const Edge& edge = edges_[edges_of_[node][i]];
      if (edge.capacity > 0 && level_[edge.to] == level_[node] + 1) break;
      ++i;
    }
    if (i < edges_of_[node].size()) {
      path.push_back(edges_of_[node][i]);
      node = edges_[path.back()].to;
    } else if (path.empty()) {
      return 0;
    } else {
      node = edges_[path.back() ^ 1].to;
      path.pop_back();
      ++next_[node];
    }
  }
  std::int64_t flow = unbounded;
  for (std::size_t e : path) flow = std::min(flow, edges_[e].capacity);
  for (std::size_t e : path) {
    edges_[e].capacity -= flow;
    edges_[e ^ 1].capacity += flow;
  }
  return flow;
}

std::vector<bool> FlowGraph::sink_side(std::size_t source, std::size_t sink) {
  while (level(source, sink)) {
    next_.assign(edges_of_.size(), 0);
    while (push(source, sink) > 0) {
    }
  }
  // Nodes that still reach the sink, walking edges backwards.
  std::vector<bool> reaches(edges_of_.size(), false);
  reaches[sink] = true;
  std::vector<std::size_t> queue{sink};
  for (std::size_t at = 0; at < queue.size(); ++at)
    for (std::size_t e : edges_of_[queue[at]]) {
      const std::size_t from = edges_[e].to;  // of the edge into queue[at], whose reverse e is
      if (edges_[e ^ 1].capacity > 0 && !reaches[from]) {
        reaches[from] = true;
        queue.push_back(from);
      }
    }
  return reaches;
}

}  // namespace tenon
