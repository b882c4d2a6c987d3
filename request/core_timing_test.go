package request

import (
	"fmt"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// wordDetok is a detokeniser that costs nothing, so that intake is measured.
type wordDetok struct{}

func (wordDetok) NewStream([]int32, bool, bool) Stream { return wordDetok{} }
func (wordDetok) Push(int32) string                    { return " word" }
func (wordDetok) Flush() string                        { return "" }

// dropSink is a client that is always fast.
type dropSink struct{}

func (dropSink) Room(chan<- messages.CallEvent) int                         { return 10 }
func (dropSink) Deliver(ch chan<- messages.CallEvent, _ messages.CallEvent) {}

// crowd opens n requests in one call each and returns a step for all of them.
func crowd(t testing.TB, n int, stops ...string) (*rig, *messages.StepResults) {
	opt := TableOptions{ContextLength: 1 << 40, PoolTokens: 1 << 40, Vocab: 1 << 20, MaxOpenRequests: n}
	r := newRigWith(t, opt, nil)
	r.core = NewCore(r.table, CoreOptions{Detokenizer: wordDetok{}, Sink: dropSink{}})
	r.start()
	m := &messages.StepResults{Header: messages.Header{Epoch: 1}, Tokens: make([]messages.TokenResult, n)}
	for i := range m.Tokens {
		s := submission(stops...)
		s.Params.MaxTokens = 1 << 40
		r.step(&messages.SubmitRequests{Call: messages.CallID(i), Requests: []messages.Submission{s}, Events: make(chan messages.CallEvent, 4)})
		m.Tokens[i] = messages.TokenResult{ID: messages.RequestID(i + 1), Token: 7}
	}
	return r, m
}

// advance makes the next step of a crowd and runs it.
func advance(r *rig, m *messages.StepResults, position int) {
	m.Seq++
	for i := range m.Tokens {
		m.Tokens[i].Position = position
	}
	r.out.Reset()
	r.core.Handle(r.now, m, &r.out)
}

func TestAllocationsPerToken(t *testing.T) {
	const n = 64
	for _, stops := range [][]string{nil, {"###", "\n\nUser:"}} {
		r, m := crowd(t, n, stops...)
		position := 0
		for ; position < 200; position++ { // past the first growth
			advance(r, m, position)
		}
		perStep := testing.AllocsPerRun(500, func() {
			advance(r, m, position)
			position++
		})
		// One output event; the growth of the token list is amortised.
		if perToken := perStep / n; perToken > 1.1 {
			t.Errorf("stops %q: %.2f allocations per token, want 1 and growth", stops, perToken)
		}
		if len(r.out.Sends) != 1 || r.out.Sends[0].Msg != any(m) || r.reading(messages.GenerationTokens) != n {
			t.Fatalf("the steps were not taken: %v", r.out.Sends)
		}
	}
}

func BenchmarkIntakeStep(b *testing.B) {
	for _, n := range []int{1, 64, 256} {
		for name, stops := range map[string][]string{"plain": nil, "stops": {"###", "\n\nUser:", " wonder"}} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				r, m := crowd(b, n, stops...)
				b.ReportAllocs()
				position := 0
				for b.Loop() {
					if position == 4096 { // as long as a long answer
						b.StopTimer()
						r, m = crowd(b, n, stops...)
						position = 0
						b.StartTimer()
					}
					advance(r, m, position)
					position++
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/token")
			})
		}
	}
}
