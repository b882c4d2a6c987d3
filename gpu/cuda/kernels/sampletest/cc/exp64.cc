// Compares exp64.cuh with long double and prints the largest errors in units in the last place.
// Arguments: how many points per function, the largest errors allowed for exp and log. Exit code 1 if one is larger.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "exp64.cuh"

static uint64_t state = 1;
static uint64_t random64() { // splitmix64
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}
static double uniform(double a, double b) { return a + (b - a) * double(random64() >> 11) * 0x1p-53; }

// off is |got - want| in units in the last place of want; infinite where only one of them is finite.
static double off(double got, long double want) {
  if (isnan(got) || isinf(double(want)) || isinf(got)) return got == double(want) ? 0 : INFINITY;
  int e = want == 0 ? -1022 : ilogbl(want);
  return double(fabsl((long double)got - want) * exp2l(52 - (e < -1022 ? -1022 : e)));
}

static double worst_exp, at_exp, worst_log, at_log;
static void try_exp(double x) {
  double e = off(exp_f64(x), expl(x));
  if (e > worst_exp) worst_exp = e, at_exp = x;
}
static void try_log(double x) {
  double e = off(log_f64(x), logl(x));
  if (e > worst_log) worst_log = e, at_log = x;
}

int main(int argc, char **argv) {
  long n = argc > 1 ? atol(argv[1]) : 1000000;
  double allowed_exp = argc > 2 ? atof(argv[2]) : 1, allowed_log = argc > 3 ? atof(argv[3]) : 1;
  for (long i = 0; i < n; i++) {
    switch (i % 6) {
    case 0: try_exp(uniform(-45, 0)); break;         // what sampling needs
    case 1: try_exp(uniform(-0.35, 0.35)); break;    // no reduction
    case 2: try_exp(uniform(-746, 710)); break;      // everything
    case 3: try_exp(uniform(-745.2, -707)); break;   // subnormal results
    case 4: try_exp(ldexp(uniform(-1, 1), -int(random64() % 60))); break;
    case 5: try_exp(double_of(bits_of(round(uniform(-1074, 1024)) * 0.693147180559945309 * (random64() % 2 ? 1 : 0.5)) + random64() % 9)); break; // borders of k
    }
    switch (i % 4) {
    case 0: try_log(double_of(random64() % 0x7ff0000000000000)); break; // every exponent
    case 1: try_log(uniform(0.7, 1.42)); break;
    case 2: try_log(1 + ldexp(uniform(-1, 1), -int(random64() % 53))); break;
    case 3: try_log(uniform(1, 1e6)); break; // what sampling needs
    }
  }
  printf("exp %.4f at %a, log %.4f at %a\n", worst_exp, at_exp, worst_log, at_log);
  const double inf = INFINITY, tiny = 0x1p-1074, huge = 0x1.fffffffffffffp1023;
  if (exp_f64(0) != 1 || exp_f64(-0.0) != 1 || exp_f64(-inf) != 0 || exp_f64(inf) != inf || !isnan(exp_f64(NAN)) || exp_f64(-1e300) != 0 ||
      exp_f64(-746) != 0 || exp_f64(-745.2) != 0 || exp_f64(-745.1) != tiny || exp_f64(709.79) != inf || exp_f64(1e300) != inf || isinf(exp_f64(709.78)) ||
      log_f64(1) != 0 || log_f64(0) != -inf || log_f64(-0.0) != -inf || log_f64(inf) != inf || !isnan(log_f64(NAN)) || !isnan(log_f64(-1)) ||
      log_f64(tiny) != double(logl(tiny)) || log_f64(huge) != double(logl(huge))) {
    printf("a special value is wrong\n");
    return 1;
  }
  return !(worst_exp <= allowed_exp && worst_log <= allowed_log);
}
