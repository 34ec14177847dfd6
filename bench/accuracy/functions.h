// The functions whose errors are measured: each as the library computes it, its exact value by MPFR, and where
// arguments are drawn.
#pragma once

#include <boost/multiprecision/mpfr.hpp>
#include <string>
#include <vector>

#include "tenon/tenon.h"

namespace accuracy {

namespace tn = tenon;
using tn::Array;
using tn::Arrays;

// 60 digits: enough that what cancels in a formula of special.cpp leaves all of f64.
using Exact =
    boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<60>, boost::multiprecision::et_off>;

// Four numbers at a time, as glibc's vector functions take them.
using Lanes = double __attribute__((vector_size(32)));

// Where an argument is at home: half of its draws are even between the two, half even in their magnitude.
struct Home {
  double low, high;
};

struct Function {
  std::string name;
  double bound;             // in ulp, as promised where no reason says otherwise
  std::vector<Home> homes;  // one an argument
  Array (*ours)(const Arrays& x);
  Exact (*exact)(const Exact* x);
  // What finds the arguments that are worth the exact value: of f32 in f64, by vectors or one by one, else the
  // library's own f64 code; of f64 in long double, else none.
  Lanes (*lanes)(Lanes x) = nullptr;
  double (*quick)(const double* x) = nullptr;
  long double (*wide)(const long double* x) = nullptr;
  bool everywhere = true;  // a third of the draws is even in the bits of all numbers
  double draws = 1;        // of the draws of a run, as a part: less where the exact value takes long
};

std::vector<Function> common_functions();
std::vector<Function> special_functions();

}  // namespace accuracy
