// A function in every way that it can be run, differentiated and batched: all agree with it run eagerly.
#pragma once

#include <tenon/tenon.h>

#include <functional>

namespace tenon {

// f of one f64 array, smooth near x: eagerly, compiled, evaluated; jvp, grad and second derivatives, in either order of
// modes, beside central differences; batched, and its gradients batched.
void expect_agreement(const std::function<Array(Array)>& f, const Array& x);

}  // namespace tenon
