package engine_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/actors/engine"
	"github.com/troupe-engine/troupe/actors/intake"
	"github.com/troupe-engine/troupe/memory/pages"
	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/request"
	"github.com/troupe-engine/troupe/sched/former"
	"github.com/troupe-engine/troupe/testkit/fakemodel"
)

// letters writes token 0 as a, 1 as b and so on.
type letters struct{}

func (letters) NewStream([]int32, bool, bool) request.Stream { return letters{} }
func (letters) Push(token int32) string                      { return string(rune('a' + token)) }
func (letters) Flush() string                                { return "" }

type nowhere struct{}

func (nowhere) Record(messages.Metric, float64) {}

// A Go program starts an engine, sends a call to intake and reads what comes on
// the call's channel. The executor is a fake model here; model/exec makes one of a
// loaded model.
func ExampleStart() {
	const pageSize, poolPages, rows, contextLength = 4, 64, 8, 128
	system := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }))
	e, err := engine.Start(system, engine.Spec{
		Members: []engine.Member{{Executor: fakemodel.New(fakemodel.Options{PageSize: pageSize, Pages: poolPages, MaxRows: rows, Vocab: 26, Async: true})}},
		Batch:   former.Options{PageSize: pageSize, Pages: poolPages, MaxRunning: rows, ContextLength: contextLength},
		Cache:   radix.Options{PageSize: pageSize},
		Alloc:   pages.Options{Pages: poolPages},
		Intake: intake.Options{Detokenizer: letters{}, Table: request.NewTable(request.TableOptions{
			ContextLength: contextLength, PoolTokens: poolPages * pageSize, Vocab: 26, MaxOpenRequests: 100,
		})},
		Meter: nowhere{}, Log: zerolog.Nop(),
		OnFatal: func(err error) { log.Fatal(err) },
	})
	if err != nil {
		log.Fatal(err)
	}

	events := make(chan messages.CallEvent, 4)
	e.Send(&messages.SubmitRequests{Call: 1, UserID: "example", Events: events, Requests: []messages.Submission{{
		Prompt: []int32{1, 2, 3}, After: -1,
		Params: &messages.SamplingParams{TopP: 1, RepetitionPenalty: 1, MaxTokens: 5, TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs},
	}}})
	for finished := false; !finished; {
		switch m := (<-events).(type) {
		case *messages.CallRefused:
			log.Fatal(m.Message)
		case *messages.CallOutput: // all at once, since Stream is off
			fmt.Printf("%q, %s after %d tokens\n", m.Text, m.Finish.Reason, m.Usage.CompletionTokens)
			finished = m.Finish != nil
		}
	}
	if err := e.Stop(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output: "gmttp", length after 5 tokens
}
