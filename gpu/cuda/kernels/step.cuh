// What the host uploads for each step. The Go side has the same layout in gpu/cuda; a test compares the offsets.
#pragma once
#include "portable.cuh"

// SampleSpec is how one token is chosen. Fields as gpu.Sampling; counts and positions as gpu/ref uses them.
struct SampleSpec {
  int32_t output, row; // row of the logits; row of the page table, for Step::sampled
  float temperature, top_p, min_p;
  int32_t top_k;
  float repetition, frequency, presence;
  int32_t history_at, history_n; // [at, at + n) of Step::history
  int32_t bias_at, bias_n;       // of Step::bias
  int32_t masked_at, masked_n;   // of Step::masked
  int32_t allowed_at;            // first word in Step::allowed; -1: every token
  int32_t score;                 // index of the ScoreResult for its log probabilities; -1: none
  int32_t top, top_at;           // most likely tokens beside it, from Step::top[top_at] on
  uint32_t choice;
  uint64_t seed, position;
};
static_assert(sizeof(SampleSpec) == 96 && __builtin_offsetof(SampleSpec, seed) == 80, "the Go side relies on it");

// ScoreSpec asks for the log probability of one token.
struct ScoreSpec {
  int32_t output, target;
  int32_t top, top_at;
};
static_assert(sizeof(ScoreSpec) == 16, "the Go side relies on it");

// TokenCount is a token of a row's history: how often the output has it, and whether the prompt has it.
struct TokenCount {
  int32_t token, output, in_prompt;
};
static_assert(sizeof(TokenCount) == 12, "the Go side relies on it");

struct TokenBias {
  int32_t token;
  float bias;
};
static_assert(sizeof(TokenBias) == 8, "the Go side relies on it");

struct SampleResult {
  int32_t token;
  int32_t status;    // 0 sampled, 1 every token is excluded, 2 a logit is NaN
  int32_t nan_token; // the first token whose logit is NaN
  int32_t reserved;
};
static_assert(sizeof(SampleResult) == 16, "the Go side relies on it");

struct ScoreResult {
  float logprob;
  int32_t token;
};
static_assert(sizeof(ScoreResult) == 8, "the Go side relies on it");

struct TopEntry {
  int32_t token;
  float logprob;
};
static_assert(sizeof(TopEntry) == 8, "the Go side relies on it");

// PageWrite changes one entry of the page table.
struct PageWrite {
  int32_t row, index, page;
};
static_assert(sizeof(PageWrite) == 12, "the Go side relies on it");

// Step is one step. It lives at a fixed address of the device, so that captured graphs can be replayed.
struct Step {
  int32_t tokens;      // rows of per-token buffers
  int32_t outputs;     // rows of per-output buffers
  int32_t samples;     // entries of sample
  int32_t scores;      // entries of score
  int32_t page_shift;  // log2 of the slots of a page
  int32_t page_stride; // entries of a row of page_table
  int32_t vocab;
  int32_t reserved;
  const int32_t *token_id;       // [tokens] an id >= 0, or -1: take sampled[token_row]
  const int32_t *token_position; // [tokens] absolute position
  const int32_t *token_row;      // [tokens] row of the page table
  const int32_t *output_token;   // [outputs] index of the token
  const int32_t *page_table;     // [rows][page_stride] page numbers; page 0 is padding
  int32_t *sampled;              // [rows] the last token sampled for a row
  const SampleSpec *sample;      // [samples]
  const ScoreSpec *score;        // [scores]
  const TokenCount *history;     // arrays that SampleSpec slices
  const TokenBias *bias;
  const int32_t *masked;
  const uint32_t *allowed;
  SampleResult *sample_result; // [samples]
  ScoreResult *score_result;   // [scores + samples with log probabilities]
  TopEntry *top;               // most likely tokens of score results
};
static_assert(sizeof(Step) == 152 && __builtin_offsetof(Step, token_id) == 32 && __builtin_offsetof(Step, sampled) == 72 &&
                  __builtin_offsetof(Step, sample_result) == 128 && __builtin_offsetof(Step, top) == 144,
              "the Go side relies on it");
