// Does not compile: a test looks at what the compiler says.
#include "tenon/tenon.h"

tenon::Array of(const tenon::Array& x) { return std::sin(x) + std::pow(x, 2.0); }
