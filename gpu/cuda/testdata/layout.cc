// Prints the sizes of the structs that the host and the kernels share, and the offsets of
// their fields in order. TestLayout compares them with the Go structs.
#include <cstdio>
#include "step.cuh"

#define BEGIN(type) printf("%s %zu", #type, sizeof(type))
#define FIELD(type, field) printf(" %zu", __builtin_offsetof(type, field))
#define END() printf("\n")

int main() {
  BEGIN(Step);
  FIELD(Step, tokens), FIELD(Step, outputs), FIELD(Step, samples), FIELD(Step, scores), FIELD(Step, page_shift), FIELD(Step, page_stride),
      FIELD(Step, vocab), FIELD(Step, reserved), FIELD(Step, token_id), FIELD(Step, token_position), FIELD(Step, token_row),
      FIELD(Step, output_token), FIELD(Step, page_table), FIELD(Step, sampled), FIELD(Step, sample), FIELD(Step, score),
      FIELD(Step, history), FIELD(Step, bias), FIELD(Step, masked), FIELD(Step, allowed), FIELD(Step, sample_result),
      FIELD(Step, score_result), FIELD(Step, top);
  END();
  BEGIN(SampleSpec);
  FIELD(SampleSpec, output), FIELD(SampleSpec, row), FIELD(SampleSpec, temperature), FIELD(SampleSpec, top_p), FIELD(SampleSpec, min_p),
      FIELD(SampleSpec, top_k), FIELD(SampleSpec, repetition), FIELD(SampleSpec, frequency), FIELD(SampleSpec, presence),
      FIELD(SampleSpec, history_at), FIELD(SampleSpec, history_n), FIELD(SampleSpec, bias_at), FIELD(SampleSpec, bias_n),
      FIELD(SampleSpec, masked_at), FIELD(SampleSpec, masked_n), FIELD(SampleSpec, allowed_at), FIELD(SampleSpec, score),
      FIELD(SampleSpec, top), FIELD(SampleSpec, top_at), FIELD(SampleSpec, choice), FIELD(SampleSpec, seed), FIELD(SampleSpec, position);
  END();
  BEGIN(ScoreSpec);
  FIELD(ScoreSpec, output), FIELD(ScoreSpec, target), FIELD(ScoreSpec, top), FIELD(ScoreSpec, top_at);
  END();
  BEGIN(TokenCount);
  FIELD(TokenCount, token), FIELD(TokenCount, output), FIELD(TokenCount, in_prompt);
  END();
  BEGIN(TokenBias);
  FIELD(TokenBias, token), FIELD(TokenBias, bias);
  END();
  BEGIN(PageWrite);
  FIELD(PageWrite, row), FIELD(PageWrite, index), FIELD(PageWrite, page);
  END();
  BEGIN(SampleResult);
  FIELD(SampleResult, token), FIELD(SampleResult, status), FIELD(SampleResult, nan_token), FIELD(SampleResult, reserved);
  END();
  BEGIN(ScoreResult);
  FIELD(ScoreResult, logprob), FIELD(ScoreResult, token);
  END();
  BEGIN(TopEntry);
  FIELD(TopEntry, token), FIELD(TopEntry, logprob);
  END();
}
