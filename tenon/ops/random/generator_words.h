// How many words the keys of random number generators have, which says what they are keys of.
#pragma once

#include <optional>

#include "tenon/ops/composites/random.h"

namespace tenon::random {

std::optional<Generator> generator_of_words(std::int64_t count);

}  // namespace tenon::random
