#include "tenon/runtime/threads/parallel_for.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <xmmintrin.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>

#include "tenon/base/error.h"
#include "tenon/base/fork.h"
#include "tenon/runtime/symbols.h"
#include "tenon/runtime/threads/processors.h"

namespace tenon {
namespace {

using Body = void (*)(void*, std::int64_t, std::int64_t, int);
using Clock = std::chrono::steady_clock;
using Word = std::atomic<std::uint32_t>;
static_assert(sizeof(Word) == 4 && Word::is_always_lock_free, "a futex is a plain 32-bit word");

// Waiting spins long enough to bridge the gap between two loops of a program, short enough not to be noticed as load. A
// worker that was called again after a longer gap spins twice as long as that, where this is still short.
constexpr auto spin_time = std::chrono::microseconds(60), longest_spin = std::chrono::microseconds(500);

void wait_while(Word& word, std::uint32_t value) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
void wake(Word& word, int count) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

// Polls `done` for a bounded time. Where there are more threads than processors, waiting must not take the processor
// from the one that is waited for.
template <class Done>
bool spin_until(Done&& done, bool crowded, Clock::duration longest = spin_time) noexcept {
  const auto start = Clock::now();
  do {
    for (int i = 0; i < 32; ++i) {
      if (done()) return true;
      _mm_pause();
    }
    if (crowded) return done();
  } while (Clock::now() - start < longest);
  return false;
}

thread_local bool inside = false;

// A worker's thread and whether it sleeps. Seats are linked once and stay, as workers do.
struct Seat {
  const pid_t thread = static_cast<pid_t>(::syscall(SYS_gettid));
  std::atomic<bool> sleeps{false};
  Seat* next = nullptr;
};

// While a worker is woken, keeps the kernel from putting it on the processor that the caller is about to keep busy: a
// virtual machine's idle processors look occupied, so a worker is often put where the caller runs, and the two take
// turns. The worker's affinity mask is what it was when this is destroyed: nothing stays pinned.
class Elsewhere {
 public:
  explicit Elsewhere(Seat* seats) noexcept {
    const int here = ::sched_getcpu();
    if (here < 0 || here >= CPU_SETSIZE) return;
    for (Seat* seat = seats; seat != nullptr && moved_ < most; seat = seat->next) {
      cpu_set_t& mask = moves_[moved_].mask;
      if (!seat->sleeps.load(std::memory_order_relaxed) || ::sched_getaffinity(seat->thread, sizeof mask, &mask) != 0 ||
          !CPU_ISSET(here, &mask) || CPU_COUNT(&mask) < 2)
        continue;
      cpu_set_t others = mask;
      CPU_CLR(here, &others);
      if (::sched_setaffinity(seat->thread, sizeof others, &others) == 0) moves_[moved_++].thread = seat->thread;
    }
  }
  ~Elsewhere() {
    for (int i = 0; i < moved_; ++i) ::sched_setaffinity(moves_[i].thread, sizeof(cpu_set_t), &moves_[i].mask);
  }
  Elsewhere(const Elsewhere&) = delete;
  Elsewhere& operator=(const Elsewhere&) = delete;

 private:
  static constexpr int most = 4;
  struct Move {
    pid_t thread;
    cpu_set_t mask;
  } moves_[most];
  int moved_ = 0;
};

// One job at a time. Its ranges are claimed from `ticket`, whose upper half is the number of the job and whose lower
// half counts the ranges that nobody has claimed. Range 0 is the caller's; the caller also claims what is left, so a
// worker that sleeps or comes late delays nobody. The fields of a job are written only after the one before has
// finished, so a worker that read them and then claims successfully has read those of its job.
class Pool {
 public:
  // The pool outlives static destructors: its workers are detached.
  static Pool& instance() {
    static constinit Lasting<Pool> pool;
    return pool.get([] {
      ::pthread_atfork(nullptr, nullptr, [] { instance().after_fork(); });
      return Pool();
    });
  }

  int threads() const noexcept { return threads_.load(std::memory_order_relaxed); }
  void set_threads(int count) noexcept { threads_.store(count, std::memory_order_relaxed); }

  bool try_acquire() noexcept {
    std::uint32_t free = 0;
    return busy_.load(std::memory_order_relaxed) == 0 &&
           busy_.compare_exchange_strong(free, 1, std::memory_order_acquire);
  }
  void acquire() noexcept {
    if (spin_until([&] { return try_acquire(); }, crowded())) return;
    while (busy_.exchange(2, std::memory_order_acquire) != 0) wait_while(busy_, 2);
  }
  void release() noexcept {
    if (busy_.exchange(0, std::memory_order_release) == 2) wake(busy_, 1);
  }

  // Starts workers until `count` exist; returns how many do. The pool must be held.
  int start_workers(int count) noexcept {
    while (started_ < count && start_worker()) ++started_;
    return started_;
  }

  // Runs a job of `chunks` > 1 ranges. The pool must be held.
  void run(Body body, void* context, std::int64_t n, std::int64_t grain, std::uint32_t chunks) noexcept {
    body_.store(body, std::memory_order_relaxed);
    context_.store(context, std::memory_order_relaxed);
    n_.store(n, std::memory_order_relaxed);
    grain_.store(grain, std::memory_order_relaxed);
    chunks_.store(chunks, std::memory_order_relaxed);
    mode_.store(_mm_getcsr(), std::memory_order_relaxed);
    unfinished_.store(chunks - 1, std::memory_order_relaxed);
    const std::uint32_t job = jobs_.load(std::memory_order_relaxed) + 1;
    ticket_.store(std::uint64_t(job) << 32 | (chunks - 1));
    jobs_.store(job);
    if (sleepers_.load() > 0) wake_workers(static_cast<int>(chunks - 1));
    inside = true;
    run_range(body, context, n, grain, chunks, 0);
    claim_all();
    inside = false;
    const auto finished = [&] { return unfinished_.load() == 0; };
    if (spin_until(finished, crowded())) return;
    caller_sleeps_.store(true);
    for (std::uint32_t left = unfinished_.load(); left != 0; left = unfinished_.load()) wait_while(unfinished_, left);
    caller_sleeps_.store(false);
  }

  static void run_range(Body body, void* context, std::int64_t n, std::int64_t grain, std::int64_t chunks,
                        std::int64_t at) noexcept {
    const std::int64_t blocks = (n - 1) / grain + 1, each = blocks / chunks, more = blocks % chunks;
    const std::int64_t first = each * at + std::min(at, more), last = first + each + (at < more ? 1 : 0);
    body(context, first * grain, last == blocks ? n : last * grain, static_cast<int>(at));
  }

 private:
  Pool() : processors_(available_processors()), threads_(initial_threads(processors_)) {}

  bool crowded() const noexcept { return threads() > processors_; }

  void claim_all() noexcept {
    std::uint64_t ticket = ticket_.load(std::memory_order_acquire);
    while (static_cast<std::uint32_t>(ticket) > 0) {
      const Body body = body_.load(std::memory_order_relaxed);
      void* const context = context_.load(std::memory_order_relaxed);
      const std::int64_t n = n_.load(std::memory_order_relaxed), grain = grain_.load(std::memory_order_relaxed);
      const std::uint32_t chunks = chunks_.load(std::memory_order_relaxed);
      const std::uint32_t mode = mode_.load(std::memory_order_relaxed);
      if (!ticket_.compare_exchange_weak(ticket, ticket - 1, std::memory_order_acq_rel, std::memory_order_acquire))
        continue;
      if (_mm_getcsr() != mode) _mm_setcsr(mode);
      run_range(body, context, n, grain, chunks, static_cast<std::uint32_t>(ticket));
      if (unfinished_.fetch_sub(1) == 1 && caller_sleeps_.load()) wake(unfinished_, 1);
      ticket = ticket_.load(std::memory_order_acquire);
    }
  }

  void wake_workers(int count) noexcept {
    if (crowded()) return wake(jobs_, count);
    const Elsewhere placed(seats_.load(std::memory_order_acquire));
    wake(jobs_, count);
  }

  void work() noexcept {
    inside = true;
    auto* const seat = new (std::nothrow) Seat;
    if (seat != nullptr) {
      seat->next = seats_.load();
      while (!seats_.compare_exchange_weak(seat->next, seat)) {
      }
    }
    std::uint32_t seen = jobs_.load();
    Clock::duration gap{0};  // how long this worker waited for the job before
    for (;;) {
      claim_all();
      const auto idle_since = Clock::now();
      const auto longest = 2 * gap <= longest_spin ? std::max<Clock::duration>(spin_time, 2 * gap) : spin_time;
      if (!spin_until([&] { return jobs_.load(std::memory_order_relaxed) != seen; }, crowded(), longest)) {
        sleepers_.fetch_add(1);
        if (seat != nullptr) seat->sleeps.store(true, std::memory_order_relaxed);
        if (jobs_.load() == seen) wait_while(jobs_, seen);
        if (seat != nullptr) seat->sleeps.store(false, std::memory_order_relaxed);
        sleepers_.fetch_sub(1);
      }
      seen = jobs_.load();
      gap = Clock::now() - idle_since;
    }
  }

  bool start_worker() noexcept {
    sigset_t all, before;  // signals are the program's business, not a worker's
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    const auto entry = [](void* pool) -> void* {
      static_cast<Pool*>(pool)->work();
      return nullptr;
    };
    const bool started = ::pthread_create(&thread, nullptr, entry, this) == 0;
    if (started) {
      ::pthread_setname_np(thread, "tenon");
      ::pthread_detach(thread);
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return started;
  }

  // In the child of a fork only the forking thread lives.
  void after_fork() noexcept {
    started_ = 0;
    seats_ = nullptr;
    sleepers_ = 0;
    unfinished_ = 0;
    caller_sleeps_ = false;
    ticket_ = std::uint64_t(jobs_.load()) << 32;
    busy_ = 0;
  }

  const int processors_;
  std::atomic<int> threads_;
  int started_ = 0;
  std::atomic<Seat*> seats_{nullptr};
  Word busy_{0};  // 0 free, 1 held, 2 held and waited for

  alignas(64) std::atomic<std::uint64_t> ticket_{0};
  Word jobs_{0};  // workers sleep on it
  Word sleepers_{0};
  alignas(64) Word unfinished_{0};  // claimed or not; the caller sleeps on it
  std::atomic<bool> caller_sleeps_{false};

  alignas(64) std::atomic<Body> body_{nullptr};
  std::atomic<void*> context_{nullptr};
  std::atomic<std::int64_t> n_{0}, grain_{1};
  std::atomic<std::uint32_t> chunks_{0}, mode_{0};
};

}  // namespace

int threads() { return Pool::instance().threads(); }

void set_threads(int count) {
  if (count < 1)
    throw RuntimeError(fmt::format("set_threads: {} threads were asked for.", count),
                       "Give at least 1, which runs everything in the calling thread.");
  Pool::instance().set_threads(std::min(count, 4096));
}

}  // namespace tenon

using tenon::Pool;

void tenon_parallel_for(void (*body)(void*, std::int64_t, std::int64_t, int), void* context, std::int64_t n,
                        std::int64_t grain) {
  if (n <= 0) return;
  grain = std::max<std::int64_t>(grain, 1);
  Pool& pool = Pool::instance();
  const std::int64_t chunks = std::min<std::int64_t>(pool.threads(), (n - 1) / grain + 1);
  if (chunks == 1) return body(context, 0, n, 0);
  if (tenon::inside || !pool.try_acquire()) {
    for (std::int64_t i = 0; i < chunks; ++i) Pool::run_range(body, context, n, grain, chunks, i);
    return;
  }
  pool.start_workers(static_cast<int>(chunks) - 1);
  pool.run(body, context, n, grain, static_cast<std::uint32_t>(chunks));
  pool.release();
}

bool tenon_parallel_run(void (*body)(void*, int), void* context, int workers) {
  Pool& pool = Pool::instance();
  if (workers < 1 || workers > pool.threads() || tenon::inside) return false;
  pool.acquire();
  const bool enough = pool.start_workers(workers - 1) >= workers - 1;
  if (enough) {
    struct Call {
      void (*body)(void*, int);
      void* context;
    } call{body, context};
    const auto each = [](void* made, std::int64_t, std::int64_t, int worker) {
      static_cast<Call*>(made)->body(static_cast<Call*>(made)->context, worker);
    };
    if (workers == 1)
      body(context, 0);
    else
      pool.run(each, &call, workers, 1, static_cast<std::uint32_t>(workers));
  }
  pool.release();
  return enough;
}

bool tenon_inside_parallel() { return tenon::inside; }

namespace tenon {
namespace {

const RuntimeSymbol symbol_of_parallel_for("tenon_parallel_for", &tenon_parallel_for);

}  // namespace
}  // namespace tenon
