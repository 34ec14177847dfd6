// NumPy's files: .npy holds one array, .npz several with names.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenon/runtime/memory/buffer.h"

namespace tenon {

using NamedBuffers = std::vector<std::pair<std::string, Buffer>>;

// One array, row-major whatever order the file has; other byte orders are converted. Versions 1 to 3 of the format. A
// two-byte void ("V2"), which is how NumPy stores bf16, is read as bf16. Throws ParseError where the file is not of
// this format, is cut short or holds another element type, RuntimeError where it cannot be opened.
Buffer read_npy(const std::filesystem::path& path);
Buffer read_npy(std::span<const std::byte> file);

// The arrays of an archive in its order, stored or deflated; members that are not arrays are passed over.
NamedBuffers read_npz(const std::filesystem::path& path);
NamedBuffers read_npz(std::span<const std::byte> file);

// Replaces the file as a whole: on failure what was there before stays. Throws RuntimeError where it cannot be written.
void write_npy(const std::filesystem::path& path, const Buffer& array);
void write_npz(const std::filesystem::path& path, const NamedBuffers& arrays);

}  // namespace tenon
