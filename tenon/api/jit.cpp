#include "tenon/api/jit.h"

#include <fmt/format.h>

#include "tenon/api/output_sizes.h"
#include "tenon/api/ref_states.h"
#include "tenon/api/small_captures.h"
#include "tenon/base/log.h"
#include "tenon/compile/executable.h"
#include "tenon/compile/in_place.h"
#include "tenon/compile/islands.h"
#include "tenon/compile/specialise.h"

namespace tenon {
namespace {

// Everything runs through the compiler from the moment the library is loaded.
CompilingExecutor compiler;
const bool executor_installed = (install_executor(&compiler), true);

}  // namespace

namespace api_detail {
namespace {

// What frames are made of: one block a thread, as large as its largest call has asked for.
struct FrameMemory {
  std::unique_ptr<void*[]> words;
  std::size_t size = 0, used = 0;
};
thread_local FrameMemory frame_memory;

Array array_of(Value&& value, bool weak) {
  return std::visit([]<class T>(T&& held) { return Array(std::forward<T>(held)); }, std::move(value)).with_weak(weak);
}

bool overlap(const Buffer& b, const std::byte* begin, std::size_t bytes) {
  return b.data() < begin + bytes && begin < b.data() + b.bytes();
}

}  // namespace

CallFrame::CallFrame(std::size_t words) : count_(words) {
  FrameMemory& memory = frame_memory;
  own_ = memory.used + words > memory.size;
  if (!own_) {
    words_ = memory.words.get() + memory.used;
    memory.used += words;
    return;
  }
  if (memory.used == 0) {  // nobody uses it: it grows
    memory.words = std::make_unique_for_overwrite<void*[]>(2 * words + 64);
    memory.size = 2 * words + 64;
    own_ = false;
    words_ = memory.words.get();
    memory.used = words;
    return;
  }
  words_ = new void*[words];
}

CallFrame::~CallFrame() {
  if (own_)
    delete[] words_;
  else
    frame_memory.used -= count_;
}

// --- entries ---

struct JitEntry::Ready {
  std::shared_ptr<const Executable> executable;
  const NativeForm* native = nullptr;
  std::vector<OutputSizes> outputs;  // of native ones
  // Whether an array is writable memory for an output.
  bool fits(std::size_t i, const Array& a, std::span<const std::int64_t> sizes) const {
    return i < outputs.size() && a.buffer() != nullptr && a.buffer()->writable() &&
           outputs[i].are_of(*a.buffer(), sizes);
  }
  std::vector<Value> captured;
  std::vector<Buffer> captured_buffers;  // of native ones, contiguous
};
struct JitEntry::Lazy {
  ForkMutex mutex;  // of who makes it
  std::unique_ptr<const Ready> made;
  std::atomic<const Ready*> ready{nullptr};
};

TracedFunction trace_for_calls(FlatFunction f, std::span<const Array> arguments, std::optional<TracedFor>& what_for,
                               std::string_view name, std::span<const Type> types) {
  const std::uint64_t asked = asked_what_for();
  std::vector<InputOf> inputs;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    inputs.push_back({types.empty() ? arguments[i].type() : types[i], arguments[i].weak()});
  TracedFunction traced = trace_inputs(f, inputs, writes_refs, TracedFor::call(arguments), name);
  if (asked != asked_what_for()) what_for = TracedFor::call(arguments);
  return with_tables(std::move(traced));
}

EntryParts::EntryParts() = default;
EntryParts::EntryParts(EntryParts&&) noexcept = default;
EntryParts::~EntryParts() = default;

JitEntry::JitEntry(const void* tag, EntryParts parts)
    : tag_(tag),
      hash_(parts.hash),
      signature_(std::move(parts.signature)),
      traced_(std::move(parts.traced)),
      donation_(std::move(parts.donation)),
      strict_(parts.strict),
      what_for_(std::move(parts.what_for)),
      plain_(std::make_unique<Lazy>()),
      donating_(std::make_unique<Lazy>()) {
  // References are arguments behind the others; the memory of those that are written is donated.
  for (const RefUse& use : traced_.refs) {
    const CellRef of = use.cell->derivative == 0 ? use.cell : use.cell->state_of.lock();
    const auto at = std::ranges::find(parts.passed, of);
    UsedRef ref{.derivative = use.cell->derivative, .written = use.written};
    if (at == parts.passed.end())
      ref.captured = use.cell;
    else
      ref.passed = static_cast<std::size_t>(at - parts.passed.begin());
    refs_.push_back(std::move(ref));
    donation_.leaves.push_back(use.written);
  }
  for (RefUse& use : traced_.refs) use.cell = nullptr;  // nobody is kept alive by having been passed
  traced_.captures.erase(traced_.captures.begin(),
                         traced_.captures.begin() + static_cast<std::ptrdiff_t>(refs_.size()));
  donates_ = std::ranges::find(donation_.leaves, true) != donation_.leaves.end();
  if (log_enabled(LogTopic::cache)) {
    std::string types;
    for (const LeafType& leaf : signature_.leaves()) types += (types.empty() ? "" : ", ") + leaf.type().text();
    log_line(LogTopic::cache, fmt::format("jit: a new specialisation for ({})", types));
  }
  // Snapshots: memory of others' may change behind our back, our own does not while we hold it.
  for (Array& capture : traced_.captures)
    if (const Buffer* b = capture.buffer(); b != nullptr && !b->ours()) capture = Array(b->contiguous_copy());
}
JitEntry::~JitEntry() = default;

EntryRef shared(JitEntry* made) { return EntryRef(made); }

void JitEntry::take_result(const tree::MutableView& result) {
  result.visit([](Array& leaf) { leaf = Array(); },
               [&](const tree::Static& fixed) {
                 if (fixed.as<Ref>() != nullptr)
                   throw TreeError("jit: the function returns a mutable reference.",
                                   "Return its value, r.get(): what is written to a reference from outside is seen "
                                   "there anyway.");
                 fixed_results_.add(fixed);
               });
}

bool JitEntry::returns(const tree::View& given) const {
  std::size_t at = 0;
  bool same = true;
  given.visit([](const Array&) {}, [&](const tree::Static& fixed) { same = same && fixed_results_.next(at, fixed); });
  return same && fixed_results_.ends_at(at);
}

bool JitEntry::borrowed() const {
  return std::ranges::any_of(traced_.captures, [](const Array& a) { return a.traced() != nullptr; }) ||
         std::ranges::any_of(refs_, [](const UsedRef& r) { return r.captured && r.captured->home != 0; });
}

const JitEntry::Ready& JitEntry::ready(bool donating) const {
  Lazy& lazy = donating ? *donating_ : *plain_;
  if (const Ready* ready = lazy.ready.load(std::memory_order_acquire)) [[likely]]
    return *ready;
  const std::lock_guard lock(lazy.mutex);
  if (lazy.made == nullptr) {
    lazy.made = make_ready(donating);
    lazy.ready.store(lazy.made.get(), std::memory_order_release);
  }
  return *lazy.made;
}

std::unique_ptr<const JitEntry::Ready> JitEntry::make_ready(bool donating) const {
  auto made = std::make_unique<Ready>();
  std::vector<bool> mask;
  if (donating) mask = donation_.leaves;
  mask.resize(donating ? traced_.program->inputs().size() : 0, false);
  if (strict_.native || strict_.in_place)
    made->executable = compile(traced_.program, mask, [&](const Compilation& compilation) {
      if (strict_.native) require_native(compilation);
      if (strict_.in_place) require_in_place(compilation, [&](std::size_t i) { return input_name(i); });
    });
  else
    made->executable = compile(traced_.program, mask);
  made->native = made->executable->native();
  if (made->native != nullptr)
    for (const NativeForm::Operand& out : made->native->outputs) made->outputs.emplace_back(out);
  for (const Array& capture : traced_.captures) {
    made->captured.push_back(capture.value());
    if (made->native != nullptr) made->captured_buffers.push_back(capture.to_buffer());
  }
  return made;
}

void JitEntry::prepare() const { ready(donates_); }

bool JitEntry::keeps_promises() const {
  if (!donates_ && !strict_.in_place && !strict_.native) return true;
  try {
    return ready(donates_).native != nullptr;
  } catch (const CompileError&) {
    return false;
  }
}

std::vector<std::size_t> JitEntry::donated_in_vain() const {
  std::vector<std::size_t> all;
  if (!donates_ || ready(true).native == nullptr) return all;
  std::vector<bool> used(leaves(), false);
  for (const auto& input : ready(true).native->shared)
    if (input) used[*input] = true;
  for (std::size_t i = 0; i < signature_.leaves().size(); ++i) {
    const Dim elements = signature_.leaves()[i].type().shape.elements();
    if (donation_.leaves[i] && !used[i] && elements != Dim(0) && elements != Dim(1)) all.push_back(i);
  }
  return all;
}

std::vector<CellRef> JitEntry::cells(std::span<const CellRef> passed) const {
  std::vector<CellRef> used(passed.begin(), passed.end());
  for (const UsedRef& ref : refs_)
    if (ref.captured) used.push_back(ref.captured);
  require_distinct("jit", used);
  used.clear();
  for (const UsedRef& ref : refs_) {
    const CellRef& cell = ref.captured ? ref.captured : passed[ref.passed];
    used.push_back(ref.captured || ref.derivative == 0 ? cell : state_of(cell, ref.derivative));
  }
  return used;
}

bool JitEntry::is_for(std::span<const Array* const> leaves) const {
  const Ahead& here = Scope::ahead_here();
  if (here == Ahead()) return true;  // the rules that it holds beside the functions are not read
  for (std::size_t i = 0; i < leaves.size(); ++i)
    if (Scope::takes_part(*leaves[i]) != what_for_->inputs[i]) return false;
  return here == what_for_->ahead;
}

Arrays JitEntry::bind(std::span<const Array> arguments, std::span<const CellRef> passed) const {
  if (what_for_) ++asked_what_for();
  if (refs_.empty()) return tenon::apply(traced_, arguments);
  const std::vector<CellRef> used = cells(passed);
  Arrays operands(arguments.begin(), arguments.end());
  for (const CellRef& cell : used) operands.push_back(read_cell(cell));
  Arrays results = tenon::apply(traced_, operands);
  std::size_t at = traced_.results();
  for (std::size_t i = 0; i < used.size(); ++i)
    if (refs_[i].written) write_cell(used[i], results[at++]);
  results.resize(traced_.results());
  return results;
}

void JitEntry::run_with_refs(void** frame, std::span<const CellRef> passed, FunctionRef<void()> run) const {
  const std::vector<CellRef> used = cells(passed);
  void** at = frame + signature_.leaves().size();
  for (const CellRef& cell : used) *at++ = &place_of(cell);
  Arrays written(results() - traced_.results());
  at += traced_.results();
  for (Array& a : written) *at++ = &a;
  run();
  std::size_t k = 0;
  for (std::size_t i = 0; i < used.size(); ++i)
    if (refs_[i].written) write_cell(used[i], std::move(written[k++]));
}

// The donated leaf's memory may be had of the only handle, given as a variable, given once. Empty: it may.
std::string_view JitEntry::why_not_donated(const Array& leaf, std::size_t i, void** frame, std::uint64_t given) const {
  const Buffer* b = leaf.buffer();
  const bool ref = i >= donation_.argument_of.size();
  const std::size_t argument = ref ? 0 : donation_.argument_of[i];
  if (!ref && (argument >= 64 || ((given >> argument) & 1) == 0)) return "it is passed as a const variable";
  if (b == nullptr) return "it is a number";
  if (!b->ours()) return "its memory is borrowed";
  if (!b->unique()) return "another handle shares its memory";
  if (!b->contiguous()) return "its elements are not contiguous";
  for (std::size_t k = 0; k < leaves(); ++k)
    if (k != i && frame[k] == &leaf) return "it is passed twice";
  return {};
}

// Before anything is taken.
void JitEntry::require_donated(const Ready& ready, void** frame, std::uint64_t given) const {
  for (const auto& input : ready.native->shared) {
    if (!input) continue;
    const std::string_view why = why_not_donated(*static_cast<const Array*>(frame[*input]), *input, frame, given);
    if (!why.empty())
      throw RuntimeError(fmt::format("jit: strict_in_place: {} is donated and would be copied, because {}.",
                                     input_name(*input).name, why),
                         "Pass the only handle of memory that Tenon allocated, as a variable that is not const.");
  }
}

InputName JitEntry::input_name(std::size_t i) const {
  if (i >= leaves()) return {"an array that the function captures", "Pass it as an argument, and donate that."};
  if (i >= donation_.argument_of.size())
    return {"a mutable reference", "Return nothing else that is made of what it was before."};
  const std::size_t argument = donation_.argument_of[i];
  const auto first = std::ranges::find(donation_.argument_of, argument) - donation_.argument_of.begin();
  const bool alone = std::ranges::count(donation_.argument_of, argument) == 1;
  return {alone ? fmt::format("argument {}", argument)
                : fmt::format("leaf {} of argument {}", static_cast<std::ptrdiff_t>(i) - first, argument),
          donation_.leaves[i] ? "It is donated, but no result can take its place."
                              : fmt::format("Donate it: jit(f, {{.donate = {{{}}}}}).", argument)};
}

// Where native code finds the arguments and what was captured: their memory, or a copy where the layout is another.
// Returns where the outputs' places follow.
void** JitEntry::place_inputs(const Ready& ready, void** frame, void** at, std::vector<Buffer>& copies) const {
  for (std::size_t i = 0; i < leaves(); ++i) {
    const Array& leaf = *static_cast<const Array*>(frame[i]);
    const Buffer* b = leaf.buffer();
    if (b == nullptr)
      *at++ = const_cast<std::byte*>(leaf.number()->data());
    else if (b->contiguous())
      *at++ = const_cast<std::byte*>(b->data());
    else
      *at++ = copies.emplace_back(b->contiguous_copy()).data();
  }
  for (const Buffer& b : ready.captured_buffers) *at++ = const_cast<std::byte*>(b.data());
  return at;
}

std::span<const std::int64_t> JitEntry::measure(void** frame) const {
  const std::size_t count = signature_.sizes().axes.size();
  if (count == 0) return {};
  static_assert(sizeof(void*) == sizeof(std::int64_t));
  auto* const to = reinterpret_cast<std::int64_t*>(frame + frame_words() - count);
  signature_.measure(reinterpret_cast<const Array* const*>(frame), to);
  return {to, count};
}

namespace {

// What runs for sizes. Code is shared by functions that compute the same: what is wrong with sizes is told with the
// lines of this one.
template <class F>
auto for_sizes(const Program& program, std::span<const std::int64_t> sizes, F f) {
  if (sizes.empty()) return f();
  try {
    return f();
  } catch (const ShapeError&) {
    static_cast<void>(specialised(program, sizes));
    throw;
  }
}

}  // namespace

void JitEntry::run(void** frame, std::uint64_t given) const {
  const Ready& ready = this->ready(donates_);
  const NativeForm* native = ready.native;
  if (native == nullptr) return run_values(ready, frame);
  if (strict_.in_place && donates_) require_donated(ready, frame, given);
  const std::size_t arguments = leaves();
  void** inputs = frame + arguments + results();
  std::vector<Buffer> copies;
  const std::span<const std::int64_t> sizes = measure(frame);
  void** at = place_inputs(ready, frame, inputs, copies);
  CallValues values;
  const bool worked_out =
      native->sizes > 0 && for_sizes(*traced_.program, sizes, [&] { return native->work_out(sizes, values); });
  const std::int64_t* dims = values.begin() + 1;
  const auto allocate = [&](std::size_t i) {
    return for_sizes(*traced_.program, sizes,
                     [&] { return ready.outputs[i].allocate(sizes, worked_out ? dims : nullptr); });
  };
  for (std::size_t i = 0; i < native->outputs.size(); dims += native->outputs[i++].dims.size()) {
    Buffer out;
    if (i < native->shared.size() && native->shared[i]) {
      const std::size_t k = *native->shared[i];
      const Array& leaf = *static_cast<const Array*>(frame[k]);
      if (why_not_donated(leaf, k, frame, given).empty()) {
        out = const_cast<Array&>(leaf).donate(SourceScope::current());
      } else {  // it stays as it is: the program works on a copy
        out = allocate(i);
        std::memcpy(out.data(), inputs[k], out.bytes());
        inputs[k] = out.data();
      }
    } else {
      out = allocate(i);
    }
    *at++ = out.data();
    *static_cast<Array*>(frame[arguments + i]) = Array(std::move(out), traced_.weak[i]);
  }
  for_sizes(*traced_.program, sizes,
            [&] { worked_out ? native->call(inputs, sizes, values) : native->call(inputs, sizes); });
}

void JitEntry::run_values(const Ready& ready, void** frame) const {
  std::vector<Value> values;
  for (std::size_t i = 0; i < leaves(); ++i) values.push_back(static_cast<const Array*>(frame[i])->value());
  values.insert(values.end(), ready.captured.begin(), ready.captured.end());
  std::vector<Value> made = ready.executable->run(values, measure(frame));
  for (std::size_t i = 0; i < made.size(); ++i)
    *static_cast<Array*>(frame[leaves() + i]) = array_of(std::move(made[i]), traced_.weak[i]);
}

namespace {

// Throws unless results of this type can be written into the array.
void check_target(const Array& a, const Type& type, std::size_t i, FunctionRef<std::vector<std::string>()> paths) {
  if (a.empty()) return;
  const auto name = [&] {
    const std::string path = paths()[i];
    return path.empty() ? std::string("the result") : "result " + path;
  };
  const Buffer* b = a.buffer();
  if (b == nullptr)
    throw RuntimeError(fmt::format("into: {} is {}, which is no array in memory.", name(),
                                   a.number() != nullptr ? "a number" : a.type().text()),
                       "Give an array that was allocated, such as an earlier result, or an empty one.");
  const auto same_size = [](std::int64_t size, const Dim& d) { return d == Dim(size); };
  if (b->dtype() != type.dtype)
    throw DTypeError(fmt::format("into: {} is {}, the function gives {}.", name(), a.type().text(), type.text()),
                     "Give an array of that dtype, or an empty one.");
  if (!std::ranges::equal(b->dims(), type.shape.dims(), same_size))
    throw ShapeError(fmt::format("into: {} is {}, the function gives {}.", name(), a.type().text(), type.text()),
                     "Give an array of that shape, or an empty one.");
  if (!b->writable())
    throw RuntimeError(fmt::format("into: {} lies in borrowed memory that is read-only.", name()),
                       "Borrow it as writable, or give another array.");
}

}  // namespace

// Memory that only the result's handle knows, or that is borrowed, is written in place; where something else would
// notice, the result is computed apart and then takes the place of the handle, or is copied into the borrowed memory.
void JitEntry::run_into(void** frame, FunctionRef<std::vector<std::string>()> paths) const {
  const Ready& ready = this->ready(false);
  const std::size_t arguments = leaves(), count = results();
  const auto target = [&](std::size_t i) -> Array& { return *static_cast<Array*>(frame[arguments + i]); };
  const std::span<const std::int64_t> sizes = measure(frame);
  for (std::size_t i = 0; i < count; ++i) {
    if (ready.fits(i, target(i), sizes)) continue;
    const Type& type = traced_.program->type(traced_.program->outputs()[i]);
    if (sizes.empty())
      check_target(target(i), type, i, paths);
    else
      check_target(target(i), type.map_dims([&](const Dim& d) { return at_sizes(d, sizes); }), i, paths);
  }
  const NativeForm* native = ready.native;
  std::vector<std::pair<std::size_t, Buffer>> apart;
  if (native == nullptr) {
    std::vector<Array> made(count);
    std::vector<void*> inner(frame, frame + arguments);
    for (Array& a : made) inner.push_back(&a);
    inner.resize(frame_words());
    run_values(ready, inner.data());
    for (std::size_t i = 0; i < count; ++i) apart.emplace_back(i, made[i].to_buffer());
  } else {
    void** inputs = frame + arguments + count;
    std::vector<Buffer> copies;
    void** at = place_inputs(ready, frame, inputs, copies);
    for (std::size_t i = 0; i < count; ++i) {
      const Buffer* b = target(i).buffer();
      bool in_place = b != nullptr && b->contiguous() && (b->unique() || !b->ours());
      for (std::size_t k = 0; in_place && k < native->inputs.size(); ++k) {
        const Buffer* in =
            k < arguments ? static_cast<const Array*>(frame[k])->buffer() : &ready.captured_buffers[k - arguments];
        const std::size_t bytes = in == nullptr ? size_of(native->inputs[k].dtype) : in->bytes();
        in_place = !overlap(*b, static_cast<const std::byte*>(inputs[k]), bytes);
      }
      for (std::size_t k = 0; in_place && k < i; ++k)
        if (const Buffer* other = target(k).buffer()) in_place = !overlap(*b, other->data(), other->bytes());
      *at++ = in_place ? const_cast<std::byte*>(b->data())
                       : apart.emplace_back(i, ready.outputs[i].allocate(sizes)).second.data();
    }
    for_sizes(*traced_.program, sizes, [&] { native->call(inputs, sizes); });
  }
  for (auto& [i, buffer] : apart) {
    Buffer held = target(i).buffer() == nullptr ? Buffer() : *target(i).buffer();
    if (held && !held.ours())
      copy_into(held, buffer);
    else
      target(i) = Array(std::move(buffer), traced_.weak[i]);
  }
}

// --- errors ---

void throw_not_prepared(const Signature& wanted, std::span<const Array> given, const std::vector<std::string>& paths) {
  const auto leaves = wanted.leaves();
  for (std::size_t i = 0; i < std::min(leaves.size(), given.size()); ++i)
    if (!leaves[i].matches(given[i]))
      throw TreeError(fmt::format("prepare: this was compiled for {}{} as argument {}, {}{} is given.",
                                  leaves[i].type().text(), leaves[i].weak() ? " (weakly typed)" : "", paths[i],
                                  given[i].type().text(), given[i].weak() ? " (weakly typed)" : ""),
                      "Call prepare() with such arguments, or call the jitted function itself.");
  throw TreeError("prepare: the arguments differ in structure or in static values from those it was compiled for.",
                  "Call prepare() with such arguments, or call the jitted function itself.");
}

void throw_other_structure() {
  throw TreeError("into: the results differ in structure or in static values from what the function gives.",
                  "Give an earlier result, or a tree whose arrays are all empty.");
}

void throw_traced_into() {
  throw RuntimeError("prepare and into: they run on memory and cannot be part of a trace.",
                     "Inside a traced function call the jitted function itself.");
}

}  // namespace api_detail
}  // namespace tenon
