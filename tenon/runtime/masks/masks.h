// What a mask chooses of rows, for generated code, hence the C names: the chosen ones one behind the other, where they
// are, and back to where they came from. A mask is `n` bytes, each 0 or not.
#pragma once

#include <cstdint>

extern "C" {

// Writes the rows of `bytes` bytes that the mask chooses to `to`, which holds `room` of them; returns how many there
// are. Where `exact`, there have to be `room`: minus tenon::sizes_differ, and nothing is written, where there are not.
std::int64_t tenon_compress(const void* mask, std::int64_t n, const void* rows, std::int64_t bytes, std::int64_t room,
                            std::int64_t exact, void* to);
// The numbers of the chosen ones, of `bytes` bytes each, 4 or 8, which hold them all; else the same.
std::int64_t tenon_places(const void* mask, std::int64_t n, std::int64_t bytes, std::int64_t room, std::int64_t exact,
                          void* to);
// Writes n rows: where the mask chooses, the next of `count` rows; zeros elsewhere. Returns 0, or minus
// tenon::sizes_differ where the mask chooses more or fewer.
std::int64_t tenon_uncompress(const void* mask, std::int64_t n, const void* rows, std::int64_t bytes,
                              std::int64_t count, void* to);
// 0, or minus tenon::sizes_differ: of a size that code has found, or works out from such.
std::int64_t tenon_not_negative(std::int64_t size);
}

namespace tenon {

// A status of generated code: a size that it has found is none that goes with what else is there.
inline constexpr std::int32_t sizes_differ = 16;

}  // namespace tenon
