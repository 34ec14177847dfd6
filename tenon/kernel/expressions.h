// What a statement holds: its expressions and the places it touches, but for those of statements in its blocks; and
// these blocks.
#pragma once

#include "tenon/kernel/function.h"

namespace tenon::kernel {

// f(expression) for each, empty ones left out.
template <class S, class F>
void for_each_expression(S& s, F&& f) {
  const auto to = [&](auto& e) {
    if (e) f(e);
  };
  const auto of_stores = [&](auto& stores) {
    for (auto& store : stores) to(store.offset), to(store.value), to(store.condition);
  };
  if (auto* n = std::get_if<Nest>(&s.held())) {
    of_stores(n->stores);
  } else if (auto* r = std::get_if<Reduce>(&s.held())) {
    to(r->initial), to(r->value), to(r->offset);
    for (auto& other : r->others) to(other.initial), to(other.value), to(other.offset);
    of_stores(r->stores);
  } else if (auto* c = std::get_if<Copy>(&s.held())) {
    to(c->to_offset), to(c->from_offset);
  } else if (auto* p = std::get_if<Product>(&s.held())) {
    to(p->a_offset), to(p->b_offset), to(p->c_offset);
  } else if (auto* e = std::get_if<Element>(&s.held())) {
    to(e->list), to(e->index), to(e->consumed);
  } else if (auto* call = std::get_if<Call>(&s.held())) {
    for (auto& a : call->arguments) to(a.value);
    to(call->result_offset);
  } else if (auto* w = std::get_if<While>(&s.held())) {
    to(w->condition);
  } else if (auto* choice = std::get_if<Switch>(&s.held())) {
    to(choice->index);
  }
}

// f(slot, offset, written) for each place but those that expressions load; what is read comes first.
template <class S, class F>
void for_each_place(S& s, F&& f) {
  const auto of_stores = [&](auto& stores) {
    for (auto& store : stores) f(store.slot, store.offset, true);
  };
  if (auto* n = std::get_if<Nest>(&s.held())) {
    of_stores(n->stores);
  } else if (auto* r = std::get_if<Reduce>(&s.held())) {
    f(r->slot, r->offset, true);
    for (auto& other : r->others) f(other.slot, other.offset, true);
    of_stores(r->stores);
  } else if (auto* c = std::get_if<Copy>(&s.held())) {
    f(c->from, c->from_offset, false), f(c->to, c->to_offset, true);
  } else if (auto* p = std::get_if<Product>(&s.held())) {
    f(p->a, p->a_offset, false), f(p->b, p->b_offset, false), f(p->c, p->c_offset, true);
  } else if (auto* call = std::get_if<Call>(&s.held())) {
    for (auto& a : call->arguments)
      if (a.address) f(*a.address, a.value, a.written);
    if (call->result) f(*call->result, call->result_offset, true);
  }
}

// f(size) for each size of loops and of what is moved.
template <class F>
void for_each_size(const Statement& s, F&& f) {
  const auto all = [&](const Sizes& sizes) {
    for (const Dim& d : sizes) f(d);
  };
  if (const auto* n = std::get_if<Nest>(&s.held())) {
    all(n->sizes);
  } else if (const auto* r = std::get_if<Reduce>(&s.held())) {
    all(r->outer_sizes), all(r->inner_sizes);
  } else if (const auto* c = std::get_if<Copy>(&s.held())) {
    f(c->elements), f(c->row);
  } else if (const auto* p = std::get_if<Product>(&s.held())) {
    for (const Dim* d : {&p->batch, &p->m, &p->n, &p->k, &p->a_batch, &p->a_m, &p->a_k, &p->b_batch, &p->b_k, &p->b_n,
                         &p->c_batch, &p->c_m, &p->c_n})
      f(*d);
  } else if (const auto* e = std::get_if<Element>(&s.held())) {
    f(e->bytes);
  } else if (const auto* loop = std::get_if<For>(&s.held())) {
    f(loop->count);
  } else if (const auto* b = std::get_if<Blocks>(&s.held())) {
    f(b->count), f(b->rest), f(b->grain);
  }
}

// f(block) for the blocks that a statement holds.
template <class S, class F>
void for_each_block(S& s, F&& f) {
  if (auto* loop = std::get_if<For>(&s.held())) {
    f(loop->body);
  } else if (auto* w = std::get_if<While>(&s.held())) {
    f(w->before), f(w->body);
  } else if (auto* choice = std::get_if<Switch>(&s.held())) {
    for (auto& branch : choice->branches) f(branch);
  } else if (auto* rows = std::get_if<Blocks>(&s.held())) {
    f(rows->body), f(rows->tail);
  }
}

}  // namespace tenon::kernel
