// What a user of the installed library writes.
#include <tenon/base/shape.h>
#include <tenon/version.h>

#include <iostream>

int main() {
  std::cout << "Tenon " << TENON_VERSION_STRING << '\n';
}
