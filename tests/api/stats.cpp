// Distributions: values beside SciPy's, other dtypes and shapes, edges, derivatives, transformations, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

#include "../error_message.h"
#include "tenon/tenon.h"

namespace {

namespace tn = tenon;
namespace stats = tenon::stats;
using testing::HasSubstr;
using tn::Array;
using tn::DType;

constexpr double infinity = std::numeric_limits<double>::infinity();

double value(const Array& x) { return x.item<double>(); }
void near(const Array& got, double expected) { EXPECT_NEAR(value(got), expected, 1e-13 * (1 + std::abs(expected))); }

TEST(Stats, WithoutShapesAreSciPys) {
  near(stats::norm.logpdf(0.7, 0.1, 1.5), -1.404403641312837);
  near(stats::norm.pdf(0.7, 0.1, 1.5), 0.24551342686888222);
  near(stats::norm.cdf(0.7, 0.1, 1.5), 0.6554217416103242);
  near(stats::norm.logcdf(0.7, 0.1, 1.5), -0.42247637022777607);
  near(stats::norm.sf(0.7, 0.1, 1.5), 0.3445782583896758);
  near(stats::norm.logsf(0.7, 0.1, 1.5), -1.0654340491895766);
  near(stats::norm.ppf(0.3, 0.1, 1.5), -0.6866007690620614);
  near(stats::norm.isf(0.3, 0.1, 1.5), 0.8866007690620613);
  near(stats::expon.logpdf(0.7, 0.1, 1.5), -0.8054651081081643);
  near(stats::expon.pdf(0.7, 0.1, 1.5), 0.4468800306904262);
  near(stats::expon.cdf(0.7, 0.1, 1.5), 0.3296799539643606);
  near(stats::expon.logcdf(0.7, 0.1, 1.5), -1.1096329315889284);
  near(stats::expon.sf(0.7, 0.1, 1.5), 0.6703200460356393);
  near(stats::expon.logsf(0.7, 0.1, 1.5), -0.39999999999999997);
  near(stats::expon.ppf(0.3, 0.1, 1.5), 0.6350124159080986);
  near(stats::expon.isf(0.3, 0.1, 1.5), 1.9059592064889044);
  near(stats::cauchy.logpdf(0.7, 0.1, 1.5), -1.698614999075838);
  near(stats::cauchy.pdf(0.7, 0.1, 1.5), 0.18293671619758087);
  near(stats::cauchy.cdf(0.7, 0.1, 1.5), 0.6211189415908434);
  near(stats::cauchy.logcdf(0.7, 0.1, 1.5), -0.4762326830362327);
  near(stats::cauchy.sf(0.7, 0.1, 1.5), 0.3788810584091566);
  near(stats::cauchy.logsf(0.7, 0.1, 1.5), -0.9705329532096636);
  near(stats::cauchy.ppf(0.3, 0.1, 1.5), -0.9898137920080415);
  near(stats::cauchy.isf(0.3, 0.1, 1.5), 1.1898137920080416);
  near(stats::laplace.logpdf(0.7, 0.1, 1.5), -1.4986122886681097);
  near(stats::laplace.pdf(0.7, 0.1, 1.5), 0.2234400153452131);
  near(stats::laplace.cdf(0.7, 0.1, 1.5), 0.6648399769821803);
  near(stats::laplace.logcdf(0.7, 0.1, 1.5), -0.40820890340082094);
  near(stats::laplace.sf(0.7, 0.1, 1.5), 0.33516002301781966);
  near(stats::laplace.logsf(0.7, 0.1, 1.5), -1.0931471805599453);
  near(stats::laplace.ppf(0.3, 0.1, 1.5), -0.6662384356489861);
  near(stats::laplace.isf(0.3, 0.1, 1.5), 0.8662384356489861);
  near(stats::logistic.logpdf(0.7, 0.1, 1.5), -1.8314956129080695);
  near(stats::logistic.pdf(0.7, 0.1, 1.5), 0.16017383049435277);
  near(stats::logistic.cdf(0.7, 0.1, 1.5), 0.598687660112452);
  near(stats::logistic.logcdf(0.7, 0.1, 1.5), -0.5130152523999526);
  near(stats::logistic.sf(0.7, 0.1, 1.5), 0.401312339887548);
  near(stats::logistic.logsf(0.7, 0.1, 1.5), -0.9130152523999526);
  near(stats::logistic.ppf(0.3, 0.1, 1.5), -1.1709467905808055);
  near(stats::logistic.isf(0.3, 0.1, 1.5), 1.3709467905808057);
}

TEST(Stats, OfShapesAreSciPys) {
  near(stats::uniform.logpdf(0.7, 0.1, 1.5), -0.4054651081081644);
  near(stats::uniform.pdf(0.7, 0.1, 1.5), 0.6666666666666666);
  near(stats::uniform.cdf(0.7, 0.1, 1.5), 0.39999999999999997);
  near(stats::uniform.logcdf(0.7, 0.1, 1.5), -0.9162907318741551);
  near(stats::uniform.sf(0.7, 0.1, 1.5), 0.6000000000000001);
  near(stats::uniform.logsf(0.7, 0.1, 1.5), -0.5108256237659906);
  near(stats::uniform.ppf(0.3, 0.1, 1.5), 0.5499999999999999);
  near(stats::uniform.isf(0.3, 0.1, 1.5), 1.15);
  near(stats::gumbel_l.logpdf(0.7, 0.1, 1.5), -1.4972898057494348);
  near(stats::gumbel_l.pdf(0.7, 0.1, 1.5), 0.22373570642896332);
  near(stats::gumbel_l.cdf(0.7, 0.1, 1.5), 0.7750382064500816);
  near(stats::gumbel_l.logcdf(0.7, 0.1, 1.5), -0.2548429521986618);
  near(stats::gumbel_l.sf(0.7, 0.1, 1.5), 0.22496179354991847);
  near(stats::gumbel_l.logsf(0.7, 0.1, 1.5), -1.4918246976412703);
  near(stats::gumbel_l.ppf(0.3, 0.1, 1.5), -1.446395649738084);
  near(stats::gumbel_l.isf(0.3, 0.1, 1.5), 0.3784401382935486);
  near(stats::gumbel_r.logpdf(0.7, 0.1, 1.5), -1.4757851541438036);
  near(stats::gumbel_r.pdf(0.7, 0.1, 1.5), 0.2285991709784879);
  near(stats::gumbel_r.cdf(0.7, 0.1, 1.5), 0.5115448336890416);
  near(stats::gumbel_r.logcdf(0.7, 0.1, 1.5), -0.6703200460356393);
  near(stats::gumbel_r.sf(0.7, 0.1, 1.5), 0.4884551663109584);
  near(stats::gumbel_r.logsf(0.7, 0.1, 1.5), -0.7165075899896719);
  near(stats::gumbel_r.ppf(0.3, 0.1, 1.5), -0.17844013829354863);
  near(stats::gumbel_r.isf(0.3, 0.1, 1.5), 1.646395649738085);
  near(stats::pareto.logpdf(2.3, 2.5, 0.1, 1.5), -0.8296472591303794);
  near(stats::pareto.pdf(2.3, 2.5, 0.1, 1.5), 0.43620312585714077);
  near(stats::pareto.cdf(2.3, 2.5, 0.1, 1.5), 0.6161412492457161);
  near(stats::pareto.logcdf(2.3, 2.5, 0.1, 1.5), -0.4842790410104449);
  near(stats::pareto.sf(2.3, 2.5, 0.1, 1.5), 0.38385875075428383);
  near(stats::pareto.logsf(2.3, 2.5, 0.1, 1.5), -0.9574806306402643);
  near(stats::pareto.ppf(0.3, 2.5, 0.1, 1.5), 1.8300236616727799);
  near(stats::pareto.isf(0.3, 2.5, 0.1, 1.5), 2.5279668741510193);
  near(stats::gamma.logpdf(0.7, 2.5, 0.1, 1.5), -2.464584076392316);
  near(stats::gamma.pdf(0.7, 2.5, 0.1, 1.5), 0.08504420691006719);
  near(stats::gamma.cdf(0.7, 2.5, 0.1, 1.5), 0.022966656243073723);
  near(stats::gamma.logcdf(0.7, 2.5, 0.1, 1.5), -3.7737118434881944);
  near(stats::gamma.sf(0.7, 2.5, 0.1, 1.5), 0.9770333437569263);
  near(stats::gamma.logsf(0.7, 2.5, 0.1, 1.5), -0.023234498804298637);
  near(stats::chi2.logpdf(0.7, 3.5, 0.1, 1.5), -2.421289601973199);
  near(stats::chi2.pdf(0.7, 3.5, 0.1, 1.5), 0.08880701787585744);
  near(stats::chi2.cdf(0.7, 3.5, 0.1, 1.5), 0.03278578190371161);
  near(stats::chi2.logcdf(0.7, 3.5, 0.1, 1.5), -3.417760336116401);
  near(stats::chi2.sf(0.7, 3.5, 0.1, 1.5), 0.9672142180962884);
  near(stats::chi2.logsf(0.7, 3.5, 0.1, 1.5), -0.03333527952462225);
  near(stats::t.logpdf(0.7, 4.5, 0.1, 1.5), -1.4756054386419821);
  near(stats::t.pdf(0.7, 4.5, 0.1, 1.5), 0.22864025748504677);
  near(stats::t.cdf(0.7, 4.5, 0.1, 1.5), 0.6462859059344426);
  near(stats::t.logcdf(0.7, 4.5, 0.1, 1.5), -0.4365132942627791);
  near(stats::t.sf(0.7, 4.5, 0.1, 1.5), 0.3537140940655575);
  near(stats::t.logsf(0.7, 4.5, 0.1, 1.5), -1.0392663360510013);
  near(stats::gennorm.logpdf(0.7, 1.5, 0.1, 1.5), -1.249279668520939);
  near(stats::gennorm.pdf(0.7, 1.5, 0.1, 1.5), 0.2867112496325589);
  near(stats::gennorm.cdf(0.7, 1.5, 0.1, 1.5), 0.7007963686174898);
  near(stats::gennorm.logcdf(0.7, 1.5, 0.1, 1.5), -0.3555379211406612);
  near(stats::gennorm.sf(0.7, 1.5, 0.1, 1.5), 0.2992036313825101);
  near(stats::gennorm.cdf(-0.0016, 400.0), 0.49919884884858);  // |z|^beta underflows
  near(stats::gennorm.logsf(0.7, 1.5, 0.1, 1.5), -1.2066308959818373);
  near(stats::beta.logpdf(0.7, 2.5, 1.5, 0.1, 1.5), -0.4074551814120111);
  near(stats::beta.pdf(0.7, 2.5, 1.5, 0.1, 1.5), 0.6653412703860703);
  near(stats::beta.cdf(0.7, 2.5, 1.5, 0.1, 1.5), 0.17392765793650994);
  near(stats::beta.logcdf(0.7, 2.5, 1.5, 0.1, 1.5), -1.749115825204913);
  near(stats::beta.sf(0.7, 2.5, 1.5, 0.1, 1.5), 0.8260723420634901);
  near(stats::beta.logsf(0.7, 2.5, 1.5, 0.1, 1.5), -0.1910729281055016);
  near(stats::truncnorm.logpdf(0.7, -1.0, 2.0, 0.1, 1.5), -1.2042373469883745);
  near(stats::truncnorm.pdf(0.7, -1.0, 2.0, 0.1, 1.5), 0.2999206476977659);
  near(stats::truncnorm.cdf(0.7, -1.0, 2.0, 0.1, 1.5), 0.6068528660094801);
  near(stats::truncnorm.logcdf(0.7, -1.0, 2.0, 0.1, 1.5), -0.49946891267667703);
  near(stats::truncnorm.sf(0.7, -1.0, 2.0, 0.1, 1.5), 0.39314713399052);
  near(stats::truncnorm.logsf(0.7, -1.0, 2.0, 0.1, 1.5), -0.9335713504337801);
}

TEST(Stats, OfAnglesAndIntegersAreSciPys) {
  near(stats::vonmises.logpdf(0.7, 2.5), -1.1166102693941522);
  near(stats::wrapcauchy.pdf(0.7, 0.25), 0.21939771657931864);
  near(stats::bernoulli.logpmf(1.0, 0.3), -1.2039728043259361);
  near(stats::bernoulli.pmf(1.0, 0.3), 0.3);
  near(stats::bernoulli.cdf(1.0, 0.3), 1.0);
  near(stats::bernoulli.sf(1.0, 0.3), 0.0);
  near(stats::binom.logpmf(1.0, 5, 0.3), -1.0212346676467658);
  near(stats::binom.pmf(1.0, 5, 0.3), 0.3601499999999999);
  near(stats::binom.cdf(1.0, 5, 0.3), 0.52822);
  near(stats::binom.sf(1.0, 5, 0.3), 0.47178);
  near(stats::nbinom.logpmf(1.0, 2.5, 0.4), -1.885261721577223);
  near(stats::nbinom.pmf(1.0, 2.5, 0.4), 0.15178932768808226);
  near(stats::nbinom.cdf(1.0, 2.5, 0.4), 0.2529822128134705);
  near(stats::nbinom.sf(1.0, 2.5, 0.4), 0.7470177871865296);
  near(stats::geom.logpmf(1.0, 0.2), -1.6094379124341003);
  near(stats::geom.pmf(1.0, 0.2), 0.2);
  near(stats::geom.cdf(1.0, 0.2), 0.2);
  near(stats::geom.sf(1.0, 0.2), 0.7999999999999999);
  near(stats::poisson.logpmf(1.0, 2.5), -1.583709268125845);
  near(stats::poisson.pmf(1.0, 2.5), 0.205212496559747);
  near(stats::poisson.cdf(1.0, 2.5), 0.2872974951836458);
  near(stats::poisson.sf(1.0, 2.5), 0.7127025048163542);
  near(stats::betabinom.logpmf(1.0, 6, 0.5, 2.5), -1.5631620672313815);
  near(stats::betabinom.pmf(1.0, 6, 0.5, 2.5), 0.20947265624999997);
  near(stats::poisson.entropy(2.5), 1.8307266079269722);
  near(stats::bernoulli.ppf(0.8, 0.3), 1.0);
}

TEST(Stats, OfDtypesAndShapes) {
  const Array x = tn::reshape(tn::arange(6, DType::f32), {2, 3}) / 2.f, a{1.0f, 2.0f, 3.0f};
  const Array made = stats::gamma.logpdf(x, a);
  EXPECT_EQ(made.type().text(), "f32[2,3]");
  EXPECT_TRUE(tn::allclose(tn::exp(made), stats::gamma.pdf(x, a), 1e-5));
  EXPECT_EQ(stats::norm.cdf(tn::convert(x, DType::bf16)).dtype(), DType::bf16);
  EXPECT_EQ(stats::beta.pdf(tn::zeros({0, 2}, DType::f32), 1.f, 2.f).shape(), (tn::Shape{0, 2}));
  EXPECT_EQ(stats::poisson.pmf(tn::arange(3), 2.f).dtype(), DType::f32);
  const auto density = [](const Array& x) { return stats::t.logpdf(x, 3.0, 0.5, 2.0); };
  const Array points = tn::arange(8, DType::f64) - 3.5;
  EXPECT_TRUE(tn::allclose(tn::jit(density)(points), density(points), 1e-14));
  EXPECT_TRUE(tn::allclose(tn::vmap(density)(points), density(points), 1e-14));
}

TEST(Stats, Edges) {
  EXPECT_EQ(value(stats::expon.logpdf(-1.0)), -infinity);
  EXPECT_EQ(value(stats::expon.pdf(-1.0)), 0);
  EXPECT_EQ(value(stats::uniform.cdf(7.0, 1.0, 2.0)), 1);
  EXPECT_EQ(value(stats::uniform.logsf(7.0)), -infinity);
  EXPECT_EQ(value(stats::beta.logcdf(-0.5, 2.0, 3.0)), -infinity);
  EXPECT_EQ(value(stats::norm.ppf(0.0)), -infinity);
  EXPECT_EQ(value(stats::norm.isf(0.0)), infinity);
  EXPECT_EQ(value(stats::binom.logpmf(1.5, 3, 0.5)), -infinity);
  for (const Array& made :
       {stats::norm.ppf(1.5), stats::norm.cdf(0.0, 0.0, -1.0), stats::gamma.pdf(1.0, -2.0), stats::poisson.pmf(1, -1.0),
        stats::poisson.cdf(std::nan(""), 1.0), stats::expon.cdf(std::nan(""))})
    EXPECT_TRUE(std::isnan(value(made)));
  EXPECT_NEAR(value(stats::norm.logsf(40.0)), -804.6084420137538, 1e-12);
  EXPECT_NEAR(value(stats::truncnorm.logcdf(8.5, 8.0, 9.0)), -0.01517391514259966,
              1e-11);  // where no mass is left of 1
}

TEST(Stats, Derivatives) {
  // d cdf / dx is the density, and in every parameter what differences give.
  const auto agree = [](const auto& distribution, double x, auto... parameters) {
    const auto cdf = [&](const Array& x) { return distribution.cdf(x, Array(parameters)...); };
    EXPECT_NEAR(value(tn::grad<0>(cdf)(Array(x))), value(distribution.pdf(x, Array(parameters)...)), 1e-12);
    const auto log_density = [&](const Array& scale) {
      return distribution.logpdf(x, Array(parameters)..., 0.1, scale);
    };
    const double step = 1e-6;
    const double by_differences =
        (value(log_density(Array(1.5 + step))) - value(log_density(Array(1.5 - step)))) / (2 * step);
    EXPECT_NEAR(value(tn::grad<0>(log_density)(Array(1.5))), by_differences, 1e-6);
    EXPECT_FALSE(std::isnan(value(tn::grad<0>(cdf)(Array(-3.0)))));  // outside of some supports
  };
  agree(stats::norm, 0.7);
  agree(stats::expon, 0.7);
  agree(stats::cauchy, 0.7);
  agree(stats::laplace, 0.7);
  agree(stats::logistic, 0.7);
  agree(stats::gumbel_l, 0.7);
  agree(stats::gumbel_r, 0.7);
  agree(stats::gamma, 0.7, 2.5);
  agree(stats::chi2, 0.7, 2.5);
  agree(stats::t, 0.7, 2.5);
  agree(stats::t, 0.0, 2.5);
  agree(stats::gennorm, 0.0, 1.5);
  agree(stats::beta, 0.7, 2.5, 1.5);
  agree(stats::truncnorm, 0.7, -1.0, 2.0);
}

TEST(Stats, OfVectors) {
  const Array mean{0.0, 1.0}, cov{{2.0, 0.5}, {0.5, 1.0}}, x{{0.5, 1.0}, {-1.0, 2.0}};
  const Array made = stats::multivariate_normal.logpdf(x, mean, cov);
  EXPECT_EQ(made.shape(), (tn::Shape{2}));
  near(made(0), -2.1891135318056283);
  near(stats::dirichlet.logpdf(Array{0.25, 0.75}, Array{1.5, 2.0}), 0.3409265869705933);
  near(stats::dirichlet.pdf(Array{0.25}, Array{1.5, 2.0}), std::exp(0.3409265869705933));
  near(stats::multinomial.logpmf(Array{1.0, 2.0}, 3.0, Array{0.25, 0.75}), -0.8630462173553428);
  EXPECT_EQ(value(stats::multinomial.pmf(Array{1.0, 1.0}, 3.0, Array{0.25, 0.75})), 0);
}

TEST(Stats, SayWhatTheyNeed) {
  EXPECT_THAT(tn::message_of<tn::DTypeError>([] { stats::norm.cdf(tn::complex(Array{1.f}, Array{2.f})); }),
              HasSubstr("norm.cdf"));
  EXPECT_THAT(tn::message_of<tn::ShapeError>([] { stats::gamma.cdf(Array{1.0, 2.0}, Array{1.0, 2.0, 3.0}); }),
              HasSubstr("gamma.cdf"));
  EXPECT_THAT(tn::message_of<tn::ShapeError>([] { stats::dirichlet.pdf(Array{1.0}, Array{1.0, 2.0, 3.0}); }),
              HasSubstr("alpha is a vector"));
  EXPECT_THAT(tn::message_of<tn::ShapeError>(
                  [] { stats::multivariate_normal.pdf(Array{1.0, 2.0}, Array{1.0, 2.0}, Array{{1.0}}); }),
              HasSubstr("square matrix"));
  EXPECT_THROW(stats::distribution("norm", "entropy", {}), std::out_of_range);
}

}  // namespace
