// Sines, cosines and tangents of any f64, for generated code, hence the C names: within 1.5 places, 2 of a tangent,
// where the C library's lose up to 4 bits at numbers that lie next to multiples of π/2.
#pragma once

extern "C" {

double tenon_sin(double x);
double tenon_cos(double x);
double tenon_tan(double x);
}
