package request_test

import (
	"fmt"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/request"
)

// letters is a detokeniser in which token 0 is "a", token 1 is "b" and so on.
type letters struct{}

func (letters) NewStream([]int32, bool, bool) request.Stream { return letters{} }
func (letters) Push(id int32) string                         { return string(rune('a' + id)) }
func (letters) Flush() string                                { return "" }

// A call with one request, from its submission to its end. The example plays the
// engine: it starts an epoch and reports the sampled tokens.
func ExampleCore() {
	table := request.NewTable(request.TableOptions{ContextLength: 100, PoolTokens: 100, Vocab: 26, MaxOpenRequests: 8})
	core := request.NewCore(table, request.CoreOptions{Detokenizer: letters{}})
	var out messages.Outbox
	epoch := messages.Header{Epoch: 1}
	core.Handle(0, &messages.EpochStarted{Header: epoch}, &out)

	// The client asks for up to 10 tokens and stops at "cd". Events come on the
	// call's own channel.
	events := make(chan messages.CallEvent, 8)
	core.Handle(0, &messages.SubmitRequests{Call: 1, Events: events, Requests: []messages.Submission{{
		Prompt: []int32{7, 8, 9}, Stop: []string{"cd"}, Stream: true, After: -1,
		Params: &messages.SamplingParams{MaxTokens: 10, TopP: 1, RepetitionPenalty: 1,
			TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs},
	}}}, &out)
	id := (<-events).(*messages.CallAccepted).Requests[0]
	for _, s := range out.Sends {
		fmt.Printf("to %s: %T\n", s.To, s.Msg)
	}
	out.Reset()

	// The engine samples "abcd". "c" is held back, because it may be the start of the
	// stop string.
	for i := range 4 {
		core.Handle(0, &messages.StepResults{Header: epoch, Seq: uint64(i + 1), Tokens: []messages.TokenResult{
			{ID: id, Position: i, Token: int32(i)},
		}}, &out)
	}
	for len(events) > 0 {
		o := (<-events).(*messages.CallOutput)
		fmt.Printf("text %q", o.Text)
		if o.Finish != nil {
			fmt.Printf(", finish reason %s at %q", o.Finish.Reason, o.Finish.MatchedStop)
		}
		fmt.Println()
	}

	// Stop strings are not known to the engine, so intake asks it to release the request.
	// The request stays in the table until then.
	for _, s := range out.Sends {
		if m, ok := s.Msg.(*messages.FinishRequests); ok {
			fmt.Printf("to %s: finish %v, %d open\n", s.To, m.IDs, table.Open())
		}
	}
	core.Handle(0, &messages.StepResults{Header: epoch, Seq: 5, Ended: []messages.RequestEnded{{ID: id, Reason: messages.EndCancelled}}}, &out)
	fmt.Println(table.Open(), "open")

	// Output:
	// to queue: *messages.EnqueueRequests
	// text "a"
	// text "b"
	// text "", finish reason stop at "cd"
	// to queue: finish [1], 1 open
	// 0 open
}
