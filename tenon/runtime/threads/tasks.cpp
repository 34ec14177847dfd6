#include "tenon/runtime/threads/tasks.h"

#include <atomic>
#include <exception>
#include <vector>

#include "tenon/base/fork.h"
#include "tenon/runtime/threads/parallel_for.h"

namespace tenon {

void run_tasks(std::size_t count, FunctionRef<void(std::size_t)> task) {
  if (count == 1) return task(0);
  struct Job {
    std::size_t count;
    FunctionRef<void(std::size_t)> task;
    std::vector<std::exception_ptr> thrown;
    std::atomic<std::size_t> next{0};
    ForkLoan loan = {};
  };
  std::vector<std::exception_ptr> thrown(count);
  {
    Job job{count, task, std::move(thrown)};
    const auto work = [](void* context, std::int64_t, std::int64_t, int) {
      Job& of = *static_cast<Job*>(context);
      const ForkLoan::Share share(of.loan);
      for (std::size_t i = of.next++; i < of.count; i = of.next++) {
        try {
          of.task(i);
        } catch (...) {
          of.thrown[i] = std::current_exception();
        }
      }
    };
    tenon_parallel_for(work, &job, static_cast<std::int64_t>(count), 1);
    thrown = std::move(job.thrown);
  }
  for (const std::exception_ptr& each : thrown)
    if (each) std::rethrow_exception(each);
}

}  // namespace tenon
