// Memory that products of OpenBLAS pack their operands in.
#pragma once

namespace tenon {

// This thread's, so that products find it. Throws MemoryError.
void reserve_product_memory();

}  // namespace tenon
