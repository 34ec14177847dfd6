#include "tests/programs/traced.h"

#include "tenon/tenon.h"

namespace tenon::sample {
namespace {

Shape shape_of(const Kind& kind) { return Shape(std::vector<Dim>(kind.dims.begin(), kind.dims.end())); }

// What is not an index by arrays alone.
std::vector<IndexPart> parts_of(const Place& place, const Arrays& indices) {
  if (place.form == Place::Form::part) return {slice(place.start, place.stop)};
  if (place.form == Place::Form::column) return {all, indices[0]};
  return {indices.begin(), indices.end()};
}

class TracedWorld {
 public:
  using Value = Array;
  using Ref = tenon::Ref;
  using Region = std::function<Arrays(const Arrays&)>;

  Array simple(const Step& step, const Arrays& in) const {
    const Kind& to = step.out[0];
    switch (step.what) {
      case Do::number:
        return Array(Scalar(step.value).convert(to.dtype));
      case Do::iota:
        return tenon::iota(to.dtype, shape_of(to), 0);
      case Do::fill:
        return broadcast_to(in[0], shape_of(to));
      case Do::total:
        return sum(in[0]);
      case Do::sine:
        return sin(in[0]);
      case Do::tanh:
        return tenon::tanh(in[0]);
      case Do::negate:
        return -in[0];
      case Do::add:
        return in[0] + in[1];
      case Do::subtract:
        return in[0] - in[1];
      case Do::multiply:
        return in[0] * in[1];
      case Do::least:
        return min(in[0], in[1]);
      case Do::greatest:
        return max(in[0], in[1]);
      case Do::less:
        return in[0] < in[1];
      case Do::both:
        return in[0] & in[1];
      case Do::opposite:
        return !in[0];
      case Do::select:
        return where(in[0], in[1], in[2]);
      default:
        return convert(in[0], to.dtype);
    }
  }

  static GatherOptions reading(const Array& x, const Place& place) {
    GatherOptions options;
    if (place.mode) options.mode = *place.mode;
    if (place.mode == IndexMode::fill) options.fill = Scalar(3).convert(x.dtype());
    return options;
  }
  static ScatterOptions writing(const Place& place) {
    ScatterOptions options{.hints = {.unique = place.unique}};
    if (place.mode) options.mode = *place.mode;
    return options;
  }
  Array read(const Array& x, const Place& place, const Arrays& indices) const {
    if (place.form == Place::Form::block)
      return dynamic_slice(x, indices, std::vector<Dim>(place.sizes.begin(), place.sizes.end()));
    return index(x, parts_of(place, indices), reading(x, place));
  }
  Array update(const Array& x, ScatterKind how, const Place& place, const Arrays& indices, const Array& value) const {
    if (place.form == Place::Form::block) return dynamic_update_slice(x, value, indices);
    return update_at(how, x, parts_of(place, indices), value, writing(place));
  }

  Ref new_ref(const Array& x) const { return make_ref(x); }
  Array value_of(const Ref& ref) const { return ref(); }
  Array read(const Ref& ref, const Place& place, const Arrays& indices) const {
    return at(ref, place, indices).get(reading(ref(), place));
  }
  void write(const Ref& ref, ScatterKind how, const Place& place, const Arrays& indices, const Array& value) const {
    const RefPart part = at(ref, place, indices);
    const ScatterOptions options = writing(place);
    switch (how) {
      case ScatterKind::set:
        return part.set(value, options);
      case ScatterKind::add:
        return part.add(value, options);
      case ScatterKind::mul:
        return part.mul(value, options);
      case ScatterKind::min:
        return part.min(value, options);
      default:
        return part.max(value, options);
    }
  }

  Arrays region(const Step& step, const Arrays& in, const std::vector<Region>& bodies) const {
    const auto from = [](const Arrays& list, std::size_t first) {
      return Arrays(list.begin() + static_cast<std::ptrdiff_t>(first), list.end());
    };
    switch (step.what) {
      case Do::scan:
        return scanned(step, in, bodies[0]);
      case Do::repeat: {
        WhileOptions options;
        if (step.checkpoints) options.checkpoints = step.checkpoints->count;
        return while_loop([&](const Arrays& carries) { return bodies[0](carries)[0]; }, bodies[1], in, options);
      }
      case Do::count: {
        const Array lower(Scalar(static_cast<std::int32_t>(step.lower)));
        const auto body = [&](const Array& i, const Arrays& carries) {
          Arrays inputs{i};
          inputs.insert(inputs.end(), carries.begin(), carries.end());
          return bodies[0](inputs);
        };
        if (!step.length) return fori_loop(lower, in[0], body, from(in, 1));
        return fori_loop(static_cast<std::int32_t>(step.lower), static_cast<std::int32_t>(step.lower + *step.length),
                         body, in);
      }
      case Do::branch:
        if (in[0].dtype() == DType::bool_) return cond(in[0], bodies[0], bodies[1], from(in, 1));
        return switch_case(in[0], std::tuple(bodies[0], bodies[1], bodies[2]), from(in, 1));
      case Do::call:
        return jit([&](const Arrays& inputs) { return bodies[0](inputs); })(in);
      default:
        return checkpoint([&](const Arrays& inputs) { return bodies[0](inputs); })(in);
    }
  }

 private:
  static Arrays scanned(const Step& step, const Arrays& in, const Region& body) {
    const auto split = static_cast<std::ptrdiff_t>(step.carries);
    const Arrays carries(in.begin(), in.begin() + split), xs(in.begin() + split, in.end());
    const ScanOptions options{
        .length = *step.length, .reverse = step.reverse, .unroll = step.unroll, .checkpoint = step.checkpoints};
    auto [end, stacks] = scan(
        [&](const Arrays& carry, const Arrays& x) {
          Arrays inputs = carry;
          inputs.insert(inputs.end(), x.begin(), x.end());
          const Arrays out = body(inputs);
          return std::pair(Arrays(out.begin(), out.begin() + split), Arrays(out.begin() + split, out.end()));
        },
        carries, xs, options);
    end.insert(end.end(), stacks.begin(), stacks.end());
    return end;
  }
  static RefPart at(const Ref& ref, const Place& place, const Arrays& indices) {
    const std::vector<IndexPart> parts = parts_of(place, indices);
    return parts.size() == 1 ? ref.at(parts[0]) : ref.at(parts[0], parts[1]);
  }
};

}  // namespace

ProgramRef program_of(const Body& recipe) {
  std::vector<Type> types;
  for (const Kind& kind : recipe.inputs) types.push_back(Type::array(kind.dtype, shape_of(kind)));
  const auto f = [&](std::span<const Array> in) {
    TracedWorld world;
    return Performance(world)(recipe, Arrays(in.begin(), in.end()));
  };
  return trace_types(f, types, std::vector<bool>(types.size(), false), writes_refs).program;
}

}  // namespace tenon::sample
