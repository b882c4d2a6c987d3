package messages

// ToRunner is the set of messages that a device's runner accepts.
type ToRunner interface{ toRunner() }

// RunBatch launches one step. It carries what changed since the last one,
// never whole page tables: the executor keeps each row's pages and tokens. One
// may come while the step before it runs; it is computed after that one and
// may work on tokens that that one samples.
// Order of application: Closed, Opened, Replaced, Grown, Work.
type RunBatch struct {
	Header
	Step     StepID
	Closed   []Row         // moved; rows that no request holds any more
	Opened   []RowOpened   // moved; rows that a request got
	Replaced []RowReplaced // moved
	Grown    []RowGrown    // moved
	Work     []RowWork     // moved; at least one, each row at most once
}

// WatchdogDue tells the runner to look how long the step that runs has been on the
// device.
type WatchdogDue struct{ Header }

// RowOpened gives a row to a request.
type RowOpened struct {
	Row     Row
	Request *EngineRequest // frozen
	// Output is what the request has produced so far, at least
	// Request.Output: a retracted request comes back with more. Frozen.
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

// RowWork is what one row does in a step: compute the tokens at positions
// [Start, Start+Count) and store their KV. All of them are known to the
// executor when the earlier steps are done: prompt, output, or sampled by one of
// them, which the batch former need not have heard of.
type RowWork struct {
	Row          Row
	Start, Count int
	// Sample is how many tokens may be sampled for the positions from Start+Count
	// on; 0: none. The executor samples at least one, appends them to the row's
	// tokens, and stores the KV of all but the last. The row's pages hold
	// Start+Count+Sample-1 positions.
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
