// Pass: a named step from a program to a program of the same language; and the one way in which all of them run.
#pragma once

#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon {

template <class Subject>
struct Pass {
  std::string name;
  std::string summary;  // one line
  std::function<Subject(Subject)> run;
  std::string needed = {};    // why later stages need it, so that it cannot be left out; or empty
  bool reassociates = false;  // sums may be rounded otherwise behind it
};

// What running a pass has to know of the language; each specialises it beside its passes:
//   unit, ending                            what its size counts, and the end of its dumps' names
//   size(subject), text(subject)
//   before(subject)                         what verify and changed look at afterwards
//   changed(before, subject)                asked only where somebody listens
//   verify(pass name, before, subject)      throws VerifyError
template <class Subject>
struct PassSubject;

// Whether TENON_PASSES=-name,-name or a WithoutPasses leaves a pass out.
bool is_left_out(std::string_view pass);

// Tells once of names in TENON_PASSES that are no pass's, or of one that is needed; `why` says of a name why it is
// needed, is empty where it can be left out, and null where there is no such pass.
void check_left_out(const std::vector<std::string>& known, std::function<const std::string*(const std::string&)> why);

// While it lives, the process runs passes without these ones: for tests. One thread makes them, one within another.
class WithoutPasses {
 public:
  explicit WithoutPasses(std::set<std::string, std::less<>> names);
  ~WithoutPasses();
  WithoutPasses(const WithoutPasses&) = delete;
  WithoutPasses& operator=(const WithoutPasses&) = delete;

 private:
  friend bool is_left_out(std::string_view);
  std::set<std::string, std::less<>> names_;
  WithoutPasses* outer_;
};

// Whether what passes change is logged (TENON_LOG=rewrite) or dumped (TENON_DUMP).
bool passes_are_watched();

// What a pass that has changed something tells its watchers.
struct PassReport {
  std::string_view pass, unit, ending;
  std::size_t before, after;  // sizes
  double milliseconds;
};
void tell_of_pass(const PassReport& report, std::function<std::string()> text);

// Runs one pass, unless it is left out. Its result is verified.
template <class Subject>
Subject run_pass(const Pass<Subject>& pass, Subject subject) {
  using Of = PassSubject<Subject>;
  if (pass.needed.empty() && is_left_out(pass.name)) return subject;
  const auto before = Of::before(subject);
  const std::size_t size = Of::size(subject);
  const auto start = std::chrono::steady_clock::now();
  Subject result = pass.run(std::move(subject));
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  Of::verify(pass.name, before, result);
  if (passes_are_watched() && Of::changed(before, result))
    tell_of_pass({pass.name, Of::unit, Of::ending, size, Of::size(result), time.count()},
                 [&] { return Of::text(result); });
  return result;
}

}  // namespace tenon
