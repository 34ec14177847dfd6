// What a cache counts, for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tenon/base/caches.h"

namespace tenon {

inline CacheInfo cache_named(const std::string& name) {
  for (const CacheInfo& info : cache_info())
    if (info.name == name) return info;
  ADD_FAILURE() << "no cache is named " << name;
  return {};
}

}  // namespace tenon
