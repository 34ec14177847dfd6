// Random programs of lists: pushes, reads, writes and pops, in branches, loops and calls within each other, as recipes
// that are followed with plain vectors and with tn::List alike.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace tenon::sample {

// What a step does. There is a row r, always of three numbers between -2 and 2, a list of rows, another that it was
// copied to once, a list of rows with an integer each, and a list of lists of rows.
enum class ListStep : std::uint8_t {
  push,
  read,
  set,
  pop,
  put_aside,  // the other becomes a copy of the list
  exchange,
  clear,
  push_tagged,
  read_tagged,
  set_tagged,
  pop_tagged,
  push_whole,  // the list of rows, into the list of lists
  read_whole,
  branch,
  choose,
  repeat,        // so many times
  repeat_while,  // as the row says
  along,         // the rows of an array, from the front or from the back
  jit,
  checkpoint
};

// The number of an element: itself, of the loop around or of the data.
struct ListIndex {
  enum class Kind : std::uint8_t { number, counter, counter_from_end, data } kind = Kind::number;
  int number = 0;

  // In plain numbers or in arrays.
  template <class Number, class OfData>
  Number of(const Number& counter, OfData data) const {
    switch (kind) {
      case Kind::number:
        return Number(number);
      case Kind::counter:
        return counter;
      case Kind::counter_from_end:
        return -1 - counter;
      case Kind::data:
        break;
    }
    return data();
  }
};

struct ListRecipe {
  struct Step {
    ListStep what;
    double by = 0.5;  // some number that the step uses
    int count = 2;    // of repetitions
    ListIndex at = {};
    std::vector<std::vector<Step>> blocks = {};
  };
  using Block = std::vector<Step>;
  Block block;
  bool of_lists = false;  // with steps on the list of lists
};

ListRecipe random_list_recipe(std::mt19937_64& random, bool of_lists);
std::string text(const ListRecipe& recipe);

}  // namespace tenon::sample
