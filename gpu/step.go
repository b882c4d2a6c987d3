package gpu

import "errors"

// Row is an entry of a model's table of rows, 0 to PoolSpec.Rows-1: the tokens of one
// sequence, its page table, and how to sample.
type Row int32

// StepBatch is one step: the changes to the rows since the previous step, then the work
// of rows. Order of application: Reset, Closed, Opened, Replaced, Grown, Work.
type StepBatch struct {
	// Reset closes every row first, and allows steps again after one failed.
	Reset    bool
	Closed   []Row
	Opened   []RowOpened
	Replaced []RowReplaced
	Grown    []RowGrown
	Work     []RowWork // each row at most once
}

// RowOpened assigns a row to a sequence. The device copies Prompt, Output and Pages;
// what Sampling points to stays frozen while the row is open.
type RowOpened struct {
	Row Row
	// Prompt has at least one token. Penalties and MinTokens depend on Output's start.
	Prompt, Output []int32
	// Pages of a cached prefix, whole and with KV. At least one token remains to compute.
	Pages    []int32
	Sampling Sampling
	Score    ScoreSpec
}

// RowReplaced overwrites a row's page table from index First on.
type RowReplaced struct {
	Row   Row
	First int
	Pages []int32
}

// RowGrown appends pages to a row's table.
type RowGrown struct {
	Row   Row
	Pages []int32
}

// RowWork computes the row's tokens at positions [Start, Start+Count) and stores their
// K and V. Start is where the row's KV ends. The tokens are known when the step begins:
// it may compute tokens that the previous step, still in flight, samples.
type RowWork struct {
	Row          Row
	Start, Count int
	// Sample is how many tokens the device may sample for the positions from
	// Start+Count on, where the row's tokens end; 0: none. A device that speculates may
	// return several; it stores the K and V of all but the last. The row's pages hold
	// Start+Count+Sample-1 positions.
	Sample int
	// Forced are output tokens that are certain. They follow the row's tokens, count as
	// sampled, and are computed in this step: the last len(Forced) of the Count tokens.
	Forced []int32
	// Mask, if not nil, is a grammar's mask of the token to sample. Sample is 1 then. If it is
	// not ready when the token is to be drawn, the row is late, and the others do not wait.
	Mask Mask
	// KeepLogits returns the raw logits of every token of the work.
	KeepLogits bool
}

// ScoreSpec asks for the log probabilities of a row's known tokens at positions
// [From, To), From >= 1: each comes with the step that computes the position
// before it. The zero value asks for none.
type ScoreSpec struct {
	From, To int
	Top      int // most likely tokens beside each, >= 0
}

// StepResult has one entry per RowWork, in order. It belongs to the device again when
// done returns, except for the memory of Logprobs, Scores and Logits.
type StepResult struct {
	Rows []RowResult
}

type RowResult struct {
	// Tokens were sampled, by position: one to RowWork.Sample of them.
	Tokens   []int32
	Logprobs []Logprobs // per token, if TopLogprobs >= 0
	// Scores are those of the tokens at positions from ScoredFrom on.
	ScoredFrom int
	Scores     []Logprobs
	Logits     [][]float32 // per token of the work, with KeepLogits
	// Late: no token was sampled, because the row's mask was not ready. The row's next work
	// computes its last token again.
	Late bool
	// Err is why no token was sampled for the row although the step succeeded. Further
	// work of the row has the same error until the row is closed.
	Err error
}

// ErrNothingToSample is the error of a row when every token is excluded.
var ErrNothingToSample = errors.New("no token can be sampled: logit_bias, min_tokens and the grammar together exclude the whole vocabulary")

// Logprobs is a token's log probability under the log-softmax of the raw logits,
// and the most likely tokens, highest first, ties lower id first.
type Logprobs struct {
	Chosen TokenLogprob
	Top    []TokenLogprob
}

type TokenLogprob struct {
	Token   int32
	Logprob float32
}
