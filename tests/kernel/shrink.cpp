#include "tests/kernel/shrink.h"

#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/ir/scalar.h"
#include "tenon/kernel/expressions.h"
#include "tenon/kernel/verify.h"

namespace tenon::kernel {
namespace {

// One attempt is one edit, by its number, of those that there are of a Function.
class Edit {
 public:
  explicit Edit(int number) : left_(number) {}
  // Whether there was such an edit.
  bool of(Function& f) { return block(f.body) || done_; }

 private:
  bool now() { return left_-- == 0; }

  bool block(Block& statements) {
    for (std::size_t i = 0; i < statements.size() && !done_; ++i) {
      if (now()) {
        statements.erase(statements.begin() + static_cast<std::ptrdiff_t>(i));
        return done_ = true;
      }
      Statement& s = statements[i];
      for_each_block(s, [&](Block& inside) {
        if (!done_) block(inside);
      });
      if (auto* n = std::get_if<Nest>(&s.held())) stores(n->stores);
      if (auto* r = std::get_if<Reduce>(&s.held())) stores(r->stores), others(r->others), expression(r->value);
    }
    return done_;
  }
  void others(std::vector<Reduce::Result>& all) {
    for (std::size_t i = 0; i < all.size() && !done_; ++i) {
      if (now()) {
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
        done_ = true;
        return;
      }
      expression(all[i].value);
    }
  }
  void stores(std::vector<Store>& all) {
    for (std::size_t i = 0; i < all.size() && !done_; ++i) {
      if (all.size() > 1 && now()) {
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
        done_ = true;
        return;
      }
      if (all[i].condition && now()) {
        all[i].condition = {};
        done_ = true;
        return;
      }
      expression(all[i].value);
      if (all[i].condition) expression(all[i].condition);
    }
  }
  // By one of its operands of that dtype, or by a number; else an operand is edited.
  void expression(Expr& e) {
    if (done_) return;
    for (const auto& operand : e.node().operands)
      if (operand && operand->dtype == e.dtype() && now()) {
        e = Expr(operand);
        done_ = true;
        return;
      }
    if (e.kind() != Expr::Kind::constant && now()) {
      const Scalar one = Scalar::one(e.dtype());
      e = constant(e.dtype(), one.data());
      done_ = true;
      return;
    }
    Expr::Node node = e.node();
    for (auto& operand : node.operands) {
      if (!operand || done_) continue;
      Expr inside(operand);
      expression(inside);
      operand = inside.shared();
    }
    if (done_) e = Expr(std::make_shared<const Expr::Node>(node));
  }

  int left_;
  bool done_ = false;
};

}  // namespace

RandomKernel smaller(RandomKernel kernel, const std::function<bool(const RandomKernel&)>& fails) {
  for (int edit = 0, tried = 0; tried < 5'000; ++tried) {
    RandomKernel less = kernel;
    if (!Edit(edit).of(less.function)) break;
    bool still = false;
    try {
      verify(less.function);
      still = fails(less);
    } catch (const Error&) {
    }
    if (still)
      kernel = std::move(less);
    else
      ++edit;
  }
  return kernel;
}

}  // namespace tenon::kernel
