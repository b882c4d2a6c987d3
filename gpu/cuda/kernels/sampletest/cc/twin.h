// A plain twin of sample and score: gpu/ref/sample.go written again, with sorted lists and 128-bit integers. It shares
// the kernels' exp and log, which exp64.cc checks, and the rule that weights are cut to units of 2^-63. So every result
// must be equal to the last bit.
#pragma once
#include <stdint.h>

#include <vector>

#include "step.cuh"

// One is a row of logits with what step says about it.
struct Twin {
  const Step &step;
  const float *logits; // [outputs][vocab]

  SampleResult sample(const SampleSpec &spec) const;
  // score returns the log probability; top has as many entries as the vocabulary allows.
  ScoreResult score(const ScoreSpec &spec, std::vector<TopEntry> &top) const;
};
