// The exponential against that of the C library in double precision, and conversions.
#include "harness.h"

TEST(exp) {
  double worst = 0;
  auto every = [&](uint32_t step) {
    for (int negative = 0; negative < 2; negative++)
      for (uint32_t b = 0; b <= bits_of(negative ? 104.0f : 88.7f); b += step) {
        float x = float_of(b | uint32_t(negative) << 31), got = exp_f32(x);
        if (negative) expect("exp_not_positive", "as exp_f32", bits_of(exp_not_positive(x)) == bits_of(got));
        double want = exp(double(x)), ulp = ldexp(1.0, fmax(double(ilogb(want)), -126) - 23);
        worst = fmax(worst, fabs(got - want) / ulp);
      }
  };
  every(getenv("TROUPE_SOAK") ? 1 : 997);
  failures += !(worst <= 1.02);
  printf("%s\texp_f32\tunits in the last place\t%.3g\t1.02\n", worst <= 1.02 ? "ok" : "FAIL", worst);
  expect("exp_f32", "e^0 is 1", exp_f32(0) == 1 && exp_f32(-0.0f) == 1);
  expect("exp_f32", "infinities", exp_f32(-INFINITY) == 0 && exp_f32(INFINITY) == INFINITY && exp_f32(1e30f) == INFINITY && exp_f32(-1e30f) == 0);
  expect("exp_f32", "NaN", isnan(exp_f32(NAN)));
  expect("exp_not_positive", "0, infinity and NaN", exp_not_positive(0) == 1 && exp_not_positive(-0.0f) == 1 && exp_not_positive(-INFINITY) == 0 && exp_not_positive(-1e30f) == 0 && isnan(exp_not_positive(NAN)) && isnan(exp_not_positive(-NAN)));
  float before = 1;
  for (uint32_t b = 1; b < bits_of(1.0f); b += 1009) {
    float e = exp_f32(-float_of(b));
    expect("exp_f32", "falls", e <= before);
    before = e;
  }
}

TEST(conversions) {
  for (uint32_t h = 0; h < 65536; h++) {
    float x = from_f16(uint16_t(h)), y = from_bf16(uint16_t(h));
    expect("from_f16", "back", isnan(x) || to_f16(x) == h);
    expect("from_bf16", "back", isnan(y) || to_bf16(y) == h);
  }
  for (int i = 0; i < 200000; i++) {
    float x = float_of(uint32_t(random_bits()));
    if (!isfinite(x)) continue;
    float b = from_bf16(to_bf16(x)), gap = ldexpf(1, (ilogbf(x) < -126 ? -126 : ilogbf(x)) - 8);
    expect("to_bf16", "to the nearest", fabs(double(b) - x) <= gap || (isinf(b) && fabsf(x) > 3.38e38f));
    expect("nearest_int", "as nearbyint", fabsf(x) > 1e6f || nearest_int(x) == int(nearbyint(double(x))));
  }
}
