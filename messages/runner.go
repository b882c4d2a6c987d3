package messages

type ToRunner interface{ toRunner() }

// RunBatch starts one step. It has only the changes since the last one: the executor
// keeps the pages and tokens of each row. It may be sent while the last step is in
// flight, and may use its tokens. Order: Closed, Opened, Replaced, Grown, Work.
type RunBatch struct {
	Header
	Step     StepID
	Closed   []Row         // moved; rows that are free again
	Opened   []RowOpened   // moved; rows assigned to a request
	Replaced []RowReplaced // moved
	Grown    []RowGrown    // moved
	Work     []RowWork     // moved; at least one, each row at most once
}

// WatchdogDue wakes the runner to check the time of the step in flight.
type WatchdogDue struct{ Header }

// RowOpened assigns a row to a request.
type RowOpened struct {
	Row     Row
	Request *EngineRequest // frozen
	// Output are the request's output tokens so far. They begin with
	// Request.Output; a request that was retracted has more. Frozen.
	Output []int32
	Pages  []Page // frozen; the pages of its cached prefix
}

// RowReplaced overwrites a row's pages from page index First on.
type RowReplaced struct {
	Row   Row
	First int
	Pages []Page // frozen
}

// RowGrown appends pages to a row.
type RowGrown struct {
	Row   Row
	Pages []Page // frozen
}

// RowWork is the work of one row in a step: compute the tokens at positions [Start,
// Start+Count) and store their KV. These tokens are in the prompt or the output, or are
// sampled by an earlier step, which may still be in flight.
type RowWork struct {
	Row          Row
	Start, Count int
	// Sample is how many tokens may be sampled from position Start+Count on; 0: none. The
	// executor samples at least one, appends them to the row's tokens, and stores the KV
	// of all but the last. The pages hold Start+Count+Sample-1 positions. A row with a grammar
	// gets several where all but the last are certain, and none if its mask is late.
	Sample int
}

// Tokens is the number of tokens that the step computes.
func (b *RunBatch) Tokens() int {
	n := 0
	for i := range b.Work {
		n += b.Work[i].Count
	}
	return n
}

func (*RunBatch) toRunner()    {}
func (*WatchdogDue) toRunner() {}
