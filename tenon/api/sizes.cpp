#include "tenon/api/sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <mutex>

#include "tenon/api/jit.h"
#include "tenon/base/log.h"
#include "tenon/base/settings.h"
#include "tenon/ops/random/generator_words.h"

namespace tenon::api_detail {

bool sizes_are_symbolic() {
  static constinit Lasting<const bool> symbolic;
  return symbolic.get([] { return setting("TENON_SIZES") == "symbolic"; });
}

// --- variables ---

std::optional<std::uint32_t> SizeVariables::variable(SizedAxis of) const {
  for (std::uint32_t k = 0; k < axes.size(); ++k)
    if (std::ranges::find(axes[k], of) != axes[k].end()) return k;
  return std::nullopt;
}

Type SizeVariables::type(const Array& leaf, std::uint32_t number, std::span<const Dim> sizes) const {
  Type type = leaf.type();
  for (std::size_t k = 0; k < axes.size(); ++k)
    for (const SizedAxis& at : axes[k])
      if (at.leaf == number) type.shape[at.axis] = sizes[k];
  return type;
}

bool SizeVariables::agree(const Array* const* leaves) const {
  const auto size = [&](const SizedAxis& at) { return leaves[at.leaf]->buffer()->dims()[at.axis]; };
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const std::int64_t first = size(axes[k].front());
    for (std::size_t i = 1; i < axes[k].size(); ++i)
      if (size(axes[k][i]) != first) return false;
    for (std::size_t j = 0; distinct && j < k; ++j)
      if (size(axes[j].front()) == first) return false;
  }
  return true;
}

SizeNames SizeNames::of(const std::vector<NamedSizes>& named, std::span<const std::size_t> leaves_of_arguments,
                        std::span<const Array> leaves) {
  SizeNames all;
  for (const NamedSizes& each : named) {
    if (each.argument >= leaves_of_arguments.size()) continue;
    std::size_t leaf = 0;
    for (std::size_t i = 0; i < each.argument; ++i) leaf += leaves_of_arguments[i];
    const std::size_t count = leaves_of_arguments[each.argument];
    for (std::size_t i = leaf; i < leaf + count; ++i) {
      const std::size_t rank = leaves[i].buffer() == nullptr ? 0 : leaves[i].buffer()->rank();
      if (rank < each.axes.size()) {
        if (count > 1 || leaves[i].traced() != nullptr) continue;
        throw ShapeError(fmt::format("jit: the option sizes names {} axes of argument {}, which is {}.",
                                     each.axes.size(), each.argument, leaves[i].type().text()),
                         "Name as many axes as the array has, or fewer.");
      }
      for (std::uint32_t axis = 0; axis < each.axes.size(); ++axis) {
        if (each.axes[axis].empty()) continue;
        auto group = std::ranges::find(all.groups, each.axes[axis], &Group::name);
        if (group == all.groups.end()) group = all.groups.insert(group, {each.axes[axis], {}});
        group->axes.push_back({static_cast<std::uint32_t>(i), axis});
      }
    }
  }
  for (Group& group : all.groups)
    std::ranges::sort(group.axes, {}, [](const SizedAxis& at) { return std::pair(at.leaf, at.axis); });
  return all;
}

void SizeNames::require_agreement(std::span<const Array> leaves,
                                  FunctionRef<std::vector<std::string>()> leaf_names) const {
  const auto size = [&](const SizedAxis& at) { return leaves[at.leaf].shape()[at.axis]; };
  for (const Group& group : groups)
    for (const SizedAxis& at : group.axes) {
      const SizedAxis& first = group.axes.front();
      if (size(at) == size(first)) continue;
      const std::vector<std::string> names = leaf_names();
      throw ShapeError(
          fmt::format("jit: the size {} is {} in axis {} of {}, and {} in axis {} of {}.", group.name,
                      size(first).text(), first.axis, names[first.leaf], size(at).text(), at.axis, names[at.leaf]),
          "Axes that are named the same have the same size: give arrays that agree, or name them apart.");
    }
}

void hash_form(const Array& leaf, Hasher& hasher) {
  hasher(leaf.weak());
  const Buffer* b = leaf.buffer();
  if (b == nullptr) return leaf.type().hash(hasher);
  hasher(b->dtype())(b->rank());
  for (const std::int64_t d : b->dims()) hasher(LeafType::varies(d) ? AnySizes::least : d);
}

// --- what is known of earlier calls ---

bool SizeHistory::fits(const Form& form, std::span<const Array> leaves) {
  return std::ranges::equal(form.leaves, leaves, [](const std::vector<Form::Axis>& axes, const Array& leaf) {
    return axes.size() == (leaf.buffer() == nullptr ? 0 : leaf.buffer()->rank());
  });
}

namespace {

// Whether an axis may hold the words of a random key.
bool may_be_of_key(const Array& leaf, std::size_t axis) {
  const auto dims = leaf.buffer()->dims();
  return leaf.dtype() == DType::u32 && axis + 1 == dims.size() && random::generator_of_words(dims[axis]);
}

}  // namespace

SizeVariables SizeHistory::variables(Sizes sizes, std::uint64_t form, std::span<const Array> leaves,
                                     const SizeNames& names) {
  SizeVariables found;
  const bool all = sizes == Sizes::symbolic || sizes_are_symbolic();
  if (sizes == Sizes::fixed && names.groups.empty()) return found;
  found.distinct = sizes != Sizes::symbolic;
  const std::lock_guard lock(mutex_);
  Form* known = forms_.find(form);
  const bool first = known == nullptr || !fits(*known, leaves);
  if (first) {
    Form now;
    for (const Array& leaf : leaves) {
      auto& axes = now.leaves.emplace_back();
      if (leaf.buffer() != nullptr)
        for (const std::int64_t d : leaf.buffer()->dims()) axes.push_back({d});
    }
    if (known != nullptr)
      *known = std::move(now);
    else
      static_cast<void>(forms_.insert(form, std::move(now)));
    known = forms_.find(form);
  }
  const auto is_named = [&](SizedAxis at) {
    return std::ranges::any_of(names.groups, [&](const SizeNames::Group& group) {
      return std::ranges::find(group.axes, at) != group.axes.end();
    });
  };
  struct Variable {
    std::int64_t size;
    std::vector<SizedAxis> axes;
    bool shared;  // with others of its size
  };
  std::vector<Variable> variables;
  for (const SizeNames::Group& group : names.groups) {
    const SizedAxis at = group.axes.front();
    if (const std::int64_t size = leaves[at.leaf].buffer()->dims()[at.axis]; LeafType::varies(size))
      variables.push_back({size, group.axes, false});
  }
  if (!variables.empty()) found.distinct = false;
  for (std::uint32_t i = 0; i < leaves.size(); ++i)
    for (std::uint32_t k = 0; k < known->leaves[i].size(); ++k) {
      Form::Axis& axis = known->leaves[i][k];
      const std::int64_t size = leaves[i].buffer()->dims()[k];
      if (!LeafType::varies(size) || is_named({i, k})) continue;
      axis.varies = axis.varies || size != axis.size;
      if (sizes == Sizes::fixed || (sizes == Sizes::automatic && axis.fixed)) continue;
      const bool has_varied = sizes == Sizes::automatic && axis.varies;
      if (!has_varied && (!all || may_be_of_key(leaves[i], k))) continue;
      const auto same = std::ranges::find_if(variables, [&](const Variable& v) { return v.shared && v.size == size; });
      if (sizes != Sizes::symbolic && same != variables.end())
        same->axes.push_back({i, k});
      else
        variables.push_back({size, {{i, k}}, true});
    }
  // A Program numbers them as its inputs show them.
  for (Variable& v : variables) found.axes.push_back(std::move(v.axes));
  const auto place = [](const std::vector<SizedAxis>& axes) { return std::pair(axes.front().leaf, axes.front().axis); };
  std::ranges::sort(found.axes, {}, place);
  return found;
}

void SizeHistory::fix(std::uint64_t form, const SizeVariables& variables) {
  const std::lock_guard lock(mutex_);
  Form* known = forms_.find(form);
  if (known == nullptr) return;
  for (const auto& axes : variables.axes)
    for (const SizedAxis& at : axes)
      if (at.leaf < known->leaves.size() && at.axis < known->leaves[at.leaf].size())
        known->leaves[at.leaf][at.axis].fixed = true;
}

// --- traces ---

namespace {

std::string axes_text(const SizeVariables& variables, const std::vector<std::string>& names) {
  std::string text;
  for (const auto& axes : variables.axes)
    for (const SizedAxis& at : axes)
      text += fmt::format("{}axis {} of {}", text.empty() ? "" : ", ", at.axis, names[at.leaf]);
  return text;
}

// What was asked for in a trace that failed, or all that there are.
SizeVariables asked_for(const SizeVariables& variables, std::span<const Dim> sizes) {
  SizeVariables asked;
  for (std::size_t k = 0; k < sizes.size(); ++k)
    if (std::ranges::any_of(sizes_asked_for(), [&](SizeVar v) { return Dim::variable(v) == sizes[k]; }))
      asked.axes.push_back(variables.axes[k]);
  return asked.empty() ? variables : asked;
}

}  // namespace

TracedFunction trace_for_sizes(FlatFunction f, std::span<const Array> arguments, const SizedTrace& how,
                               SizeVariables& variables, std::optional<TracedFor>& what_for, std::string_view name) {
  variables = how.history->variables(how.sizes, how.form, arguments, *how.names);
  std::vector<SizeVariables> refused;
  std::string why;
  constexpr std::size_t most_tries = 3;
  while (!variables.empty()) {
    std::vector<SizeVar> numbers;
    std::vector<Dim> sizes;
    for (std::size_t k = 0; k < variables.axes.size(); ++k) {
      numbers.push_back(fresh_size());
      sizes.push_back(Dim::variable(numbers.back()));
    }
    std::vector<Type> types;
    for (std::uint32_t i = 0; i < arguments.size(); ++i) types.push_back(variables.type(arguments[i], i, sizes));
    sizes_asked_for().clear();
    try {
      const AnySizes any(numbers, variables.distinct);
      TracedFunction traced = trace_for_calls(f, arguments, what_for, name, types);
      if (traced.sizes == sizes) {
        if (log_enabled(LogTopic::cache))
          log_line(LogTopic::cache,
                   fmt::format("{}: from now on for any size of {}", how.function, axes_text(variables, how.leaves())));
        for (const SizeVariables& each : refused) how.history->fix(how.form, each);
        return traced;
      }
      why = "a size comes from somewhere else: ";
      for (const Dim& size : traced.sizes) why += (&size == traced.sizes.data() ? "" : ", ") + size.text();
    } catch (const CancelledError&) {
      throw;
    } catch (const std::exception& error) {
      const auto said = how.why(error);
      if (how.sizes != Sizes::automatic || !said) throw;
      why = *said;
    }
    refused.push_back(refused.size() + 1 < most_tries ? asked_for(variables, sizes) : variables);
    std::erase_if(variables.axes, [&](const auto& axes) {
      return std::ranges::find(refused.back().axes, axes) != refused.back().axes.end();
    });
  }
  TracedFunction traced = trace_for_calls(f, arguments, what_for, name);
  for (const SizeVariables& each : refused) {
    how.history->fix(how.form, each);
    if (log_enabled(LogTopic::cache))
      log_line(LogTopic::cache,
               fmt::format("{}: traced for each size of {}, since a trace for any failed: {}", how.function,
                           axes_text(each, how.leaves()), why.substr(0, why.find('\n'))));
  }
  return traced;
}

}  // namespace tenon::api_detail
