// ducc0's loops over threads, on Tenon's pool.
#include "ducc0/infra/threading.cc"
#include "tenon/runtime/threads/parallel_for.h"

namespace DUCC0_NAMESPACE::detail_threading {
namespace {

class Pool : public thread_pool {
 public:
  size_t nthreads() const override { return static_cast<size_t>(tenon::threads()) - 1; }
  size_t adjust_nthreads(size_t wanted) const override {
    if (tenon_inside_parallel()) return 1;
    const auto all = static_cast<size_t>(tenon::threads());
    return wanted == 0 ? all : std::min(wanted, all);
  }
  void submit(std::function<void()> work) override { work(); }
  void parallel_for(size_t count, std::function<void(size_t)> work) override {
    tenon::each_range(static_cast<std::int64_t>(count), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) work(static_cast<size_t>(i));
    });
  }
};

}  // namespace

thread_pool* get_active_pool() {
  static constinit tenon::Lasting<Pool> pool;
  return &pool.get();
}
thread_pool* set_active_pool(thread_pool*) { return get_active_pool(); }
size_t available_hardware_threads() { return static_cast<size_t>(tenon::threads()); }

}  // namespace DUCC0_NAMESPACE::detail_threading
