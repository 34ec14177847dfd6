// The version of Tenon. The build reads it from here: it is written in no other place.
#pragma once

#define TENON_VERSION_MAJOR 0
#define TENON_VERSION_MINOR 1
#define TENON_VERSION_PATCH 0

#define TENON_VERSION_TEXT_(x) #x
#define TENON_VERSION_JOIN_(a, b, c) TENON_VERSION_TEXT_(a) "." TENON_VERSION_TEXT_(b) "." TENON_VERSION_TEXT_(c)

// "0.1.0"
#define TENON_VERSION_STRING TENON_VERSION_JOIN_(TENON_VERSION_MAJOR, TENON_VERSION_MINOR, TENON_VERSION_PATCH)

// One number for comparisons in #if: 100 for 0.1.0.
#define TENON_VERSION (TENON_VERSION_MAJOR * 10000 + TENON_VERSION_MINOR * 100 + TENON_VERSION_PATCH)
