// What ducc0 asks for where its threads are another's: ducc0/infra/threading.h includes this file by its name.
#pragma once

#include <condition_variable>
#include <mutex>

#include "tenon/base/fork.h"

namespace DUCC0_NAMESPACE::detail_threading {

using Mutex = tenon::ForkMutex;
using UniqueLock = std::unique_lock<Mutex>;
using LockGuard = std::lock_guard<Mutex>;
using CondVar = std::condition_variable_any;

// Written by ducc0, and read by nobody: whether a thread is inside a loop Tenon's pool knows.
inline thread_local bool in_parallel_region = false;

}  // namespace DUCC0_NAMESPACE::detail_threading
