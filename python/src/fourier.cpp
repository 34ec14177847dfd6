// Fourier transforms.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "call.h"
#include "dtypes.h"
#include "op.h"
#include "operands.h"
#include "rooms.h"
#include "shapes.h"
#include "tenon/api/fft.h"

namespace tenon::python {
namespace {

using Integers = std::vector<std::int64_t>;

struct AlongOne {
  const char* name;
  Array (*f)(const Operand& x, const fft::Options& options);
};
constexpr AlongOne along_one[] = {{"fft", fft::fft},     {"ifft", fft::ifft}, {"rfft", fft::rfft},
                                  {"irfft", fft::irfft}, {"hfft", fft::hfft}, {"ihfft", fft::ihfft},
                                  {"dct", fft::dct},     {"idct", fft::idct}};
struct AlongMany {
  const char* name;
  Array (*f)(const Operand& x, const fft::ManyOptions& options);
};
constexpr AlongMany along_many[] = {{"fftn", fft::fftn},     {"ifftn", fft::ifftn}, {"rfftn", fft::rfftn},
                                    {"irfftn", fft::irfftn}, {"dctn", fft::dctn},   {"idctn", fft::idctn}};
struct Shift {
  const char* name;
  Array (*f)(const Operand& x, const std::optional<Integers>& axes);
};
constexpr Shift shifts[] = {{"fftshift", fft::fftshift}, {"ifftshift", fft::ifftshift}};

fft::Norm norm_of(const char* name, nb::handle norm) {
  const auto text = norm.is_none() ? std::string("backward") : nb::cast<std::string>(norm);
  if (text == "backward") return fft::Norm::backward;
  if (text == "ortho") return fft::Norm::ortho;
  if (text == "forward") return fft::Norm::forward;
  throw nb::value_error(
      fmt::format("{}: Invalid norm value {}; should be \"backward\", \"ortho\" or \"forward\".", name, text).c_str());
}

}  // namespace

void add_fourier(nb::module_& module) {
  for (const AlongOne& f : along_one)
    module.def(f.name, [&f](ArrayLike x, nb::handle n, std::int64_t axis, nb::handle norm) {
      const Array a = x.array(f.name);
      const fft::Options options{size_or_none(n), axis, norm_of(f.name, norm)};
      return call_op(f.name, [&] { return f.f(op(a), options); });
    });
  for (const AlongMany& f : along_many)
    module.def(f.name, [&f](ArrayLike x, nb::handle s, std::optional<Integers> axes, nb::handle norm) {
      const Array a = x.array(f.name);
      fft::ManyOptions options{{}, axes, norm_of(f.name, norm)};
      if (!s.is_none()) options.s = shape_from(s).dims();
      return call_op(f.name, [&] { return f.f(op(a), options); });
    });
  for (const Shift& f : shifts)
    module.def(f.name, [&f](ArrayLike x, std::optional<Integers> axes) {
      const Array a = x.array(f.name);
      return call_op(f.name, [&] { return f.f(op(a), axes); });
    });
  const auto add_frequencies = [&](const char* name, Array (*f)(const Dim&, const Operand&, DType)) {
    module.def(name, [name, f](SizeLike n, ArrayLike d, DTypeArgument dtype) {
      const Array distance = d.array(name);
      return call_op(name, [&] { return f(n.size, op(distance), dtype); });
    });
  };
  add_frequencies("fftfreq", fft::fftfreq);
  add_frequencies("rfftfreq", fft::rfftfreq);
}

}  // namespace tenon::python
