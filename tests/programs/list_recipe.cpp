#include "tests/programs/list_recipe.h"

#include <fmt/format.h>

#include <array>

namespace tenon::sample {
namespace {

using Block = ListRecipe::Block;
using Step = ListRecipe::Step;

constexpr std::array names{"push",       "read",         "set",         "pop",         "put_aside",
                           "exchange",   "clear",        "push_tagged", "read_tagged", "set_tagged",
                           "pop_tagged", "push_whole",   "read_whole",  "branch",      "choose",
                           "repeat",     "repeat_while", "along",       "jit",         "checkpoint"};

class Maker {
 public:
  Maker(std::mt19937_64& random, bool of_lists) : random_(random), of_lists_(of_lists) {}

  Block block(int depth) {
    Block steps;
    for (int left = number(1, depth == 0 ? 5 : 3); left > 0; --left) steps.push_back(step(depth));
    return steps;
  }

 private:
  int number(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }

  Step step(int depth) {
    using enum ListStep;
    static constexpr std::array plain{push,        push,        push,       read,      read,      set,
                                      set,         pop,         pop,        clear,     put_aside, exchange,
                                      push_tagged, read_tagged, set_tagged, pop_tagged};
    static constexpr std::array lists{push_whole, push_whole, read_whole};
    static constexpr std::array around{branch,       branch, choose, repeat,    repeat_while,
                                       repeat_while, along,  jit,    checkpoint};
    const auto one_of = [&](const auto& kinds) {
      return kinds[static_cast<std::size_t>(number(0, int(kinds.size()) - 1))];
    };
    Step s{.what = one_of(plain), .by = 0.1 * number(-9, 9), .count = number(0, 4)};
    s.at = {static_cast<ListIndex::Kind>(number(0, 3)), number(-3, 3)};
    if (depth < 3 && number(0, 2) == 0) {
      s.what = one_of(around);
      const int blocks = s.what == choose ? 3 : s.what == branch ? 2 : 1;
      for (int b = 0; b < blocks; ++b) s.blocks.push_back(block(depth + 1));
    } else if (of_lists_ && number(0, 3) == 0) {
      s.what = one_of(lists);
    }
    return s;
  }

  std::mt19937_64& random_;
  bool of_lists_;
};

void print(const Block& block, const std::string& indent, std::string& text) {
  for (const Step& s : block) {
    text += fmt::format("{}{} by {} count {} at {}:{}\n", indent, names[static_cast<std::size_t>(s.what)], s.by,
                        s.count, static_cast<int>(s.at.kind), s.at.number);
    for (std::size_t b = 0; b < s.blocks.size(); ++b) {
      if (b > 0) text += indent + "or\n";
      print(s.blocks[b], indent + "  ", text);
    }
  }
}

}  // namespace

ListRecipe random_list_recipe(std::mt19937_64& random, bool of_lists) {
  return {Maker(random, of_lists).block(0), of_lists};
}

std::string text(const ListRecipe& recipe) {
  std::string text;
  print(recipe.block, "  ", text);
  return text;
}

}  // namespace tenon::sample
