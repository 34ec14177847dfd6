// For estimates: what a size may be that is known only when code runs. As a double, since products may be more than an
// integer holds.
#pragma once

#include "tenon/base/dim.h"

namespace tenon {

double estimate(const Dim& size);

}  // namespace tenon
