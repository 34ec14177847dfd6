#include "tenon/compile/plan/readers.h"

#include <algorithm>

namespace tenon {

void Readers::add(const Read& read) {
  several_nests_ = several_nests_ || (count_ > 0 && reads_[0].nest != read.nest);
  for (std::size_t i = 0; i < count_; ++i) {
    Read& known = reads_[i];
    if (known.nest != read.nest || known.map != read.map) continue;
    known.elements = std::max(known.elements, read.elements);
    known.times = std::max(known.times, read.times);
    known.guards_left = std::min(known.guards_left, read.guards_left);
    return;
  }
  if (count_ < most)
    reads_[count_++] = read;
  else
    others_ += read.elements;
}

void Readers::add(const Readers& more) {
  several_nests_ = several_nests_ || more.several_nests_;
  others_ += more.others_;
  for (std::size_t i = 0; i < more.count_; ++i) add(more.reads_[i]);
}

void Readers::add(const Readers& more, const ElementForm::Read& how, double elements) {
  several_nests_ = several_nests_ || more.several_nests_;
  others_ += more.others_;
  for (std::size_t i = 0; i < more.count_; ++i) {
    Read read = more.reads_[i];
    if (how.map != Hash128()) {
      Hasher map;
      map(read.map)(how.map);
      read.map = map.finish();
    }
    if (how.elements < elements && read.guards_left > 0) {
      read.elements = std::min(read.elements, read.times * how.elements);
      --read.guards_left;
    }
    read.times *= how.times;
    if (!how.affine) read.guards_left = 0;
    add(read);
  }
}

double Readers::evaluations() const {
  double sum = others_;
  for (std::size_t i = 0; i < count_; ++i) sum += reads_[i].elements;
  return sum;
}

double Readers::again(double elements) const {
  if (others_ > 0) return most;
  double times = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    double read = 0;
    for (std::size_t k = 0; k < count_; ++k) read += reads_[k].nest == reads_[i].nest ? reads_[k].elements : 0;
    if (read > reads_[i].elements) times = std::max(times, read / std::max(elements, 1.) - 1);
  }
  return times;
}

}  // namespace tenon
