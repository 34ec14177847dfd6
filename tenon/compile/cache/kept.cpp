#include "tenon/compile/cache/kept.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <unordered_map>

#include "tenon/base/dump.h"
#include "tenon/base/log.h"
#include "tenon/compile/cache/fingerprint.h"
#include "tenon/compile/cache/folder.h"
#include "tenon/ir/op.h"

namespace tenon {
namespace {

Hash128 name_on_disk(const Hash128& key) { return Hasher()(fingerprint())(key).finish(); }

const void* library_of(const void* address) {
  Dl_info found{};
  return ::dladdr(address, &found) != 0 ? found.dli_fbase : nullptr;
}

bool has_ops_of_users(const Program& program) {
  static const char here = 0;
  const void* own = library_of(&here);
  std::unordered_map<const OpInfo*, bool> known;
  return find_eqn(program, [&](const Eqn& eqn) {
           const auto [at, fresh] = known.emplace(eqn.op, false);
           if (fresh) at->second = library_of(eqn.op) != own;
           return at->second;
         }) != nullptr;
}

std::string title_of(const Program& program) {
  constexpr std::size_t longest = 160;
  std::string types;
  for (const Type& type : program.input_types())
    if (types.size() < longest) types += (types.empty() ? "" : ", ") + type.text();
  std::string title = fmt::format("{}({})", program.name().empty() ? "program" : program.name(), types);
  if (title.size() > longest) title.resize(longest), title += "...";
  return title;
}

}  // namespace

std::optional<NativeParts> kept_parts(const Hash128& key, const Program* program) {
  const CodeFolder* folder = dumping() ? nullptr : CodeFolder::of_user();
  if (folder == nullptr) return {};
  const std::optional<std::string> content = folder->find(name_on_disk(key));
  if (!content) return {};
  auto parts = from_bytes(*content, program);
  if (log_enabled(LogTopic::cache))
    log_line(LogTopic::cache, fmt::format("{} on disk{}", name_on_disk(key).hex(), parts ? "" : ", but of no use"));
  return parts;
}

void keep(const Hash128& key, const Program& program, const NativeParts& parts) {
  constexpr std::size_t largest = std::size_t(64) << 20;
  const CodeFolder* folder = CodeFolder::of_user();
  if (folder == nullptr || parts.code.bytes.size() > largest || has_ops_of_users(program)) return;
  folder->store(name_on_disk(key), title_of(program), to_bytes(parts));
}

}  // namespace tenon
