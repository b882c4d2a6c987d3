// Random and adversarial steps.
#pragma once
#include <stdint.h>

#include <random>
#include <vector>

#include "step.cuh"

// Case is a step with all of its arrays, and how to launch it.
struct Case {
  Step step{};
  std::vector<float> logits;
  std::vector<SampleSpec> sample;
  std::vector<ScoreSpec> score;
  std::vector<TokenCount> history;
  std::vector<TokenBias> bias;
  std::vector<int32_t> masked, sampled;
  std::vector<uint32_t> allowed;
  std::vector<SampleResult> sample_result;
  std::vector<ScoreResult> score_result;
  std::vector<TopEntry> top;
  unsigned threads = 512, sample_grid = 1, score_grid = 1;
  uint64_t schedule = 0;

  void point(); // points step at the arrays
};

// random_case makes the case of a seed, with at most that many logits in a row.
Case random_case(uint64_t seed, int largest);
