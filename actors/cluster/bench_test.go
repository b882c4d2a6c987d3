package cluster

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/troupe-engine/troupe/cluster/link"
	"github.com/troupe-engine/troupe/cluster/wire"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/request"
	"github.com/troupe-engine/troupe/sched/dispatch"
	"github.com/troupe-engine/troupe/sched/route"
)

// BenchmarkGatewayToken is what a gateway computes for a token, from the bytes of a frame to
// the event for the client: link, dispatch and intake, without the network and HTTP. A
// step has tokens of 64 of 1,000 streams.
func BenchmarkGatewayToken(b *testing.B) {
	const streams, rows = 1000, 64
	table := request.NewTable(request.TableOptions{ContextLength: 1 << 30, PoolTokens: 1 << 30, Vocab: vocab, MaxOpenRequests: streams, MaxLogprobs: 5})
	intake := request.NewCore(table, request.CoreOptions{Detokenizer: words{}})
	broker := dispatch.New(1, dispatch.Options{Route: route.Options{PageSize: pageSize}})
	near := link.NewEngine(link.Options{Slot: 1, Timeout: time.Second, Limits: wire.Limits{Vocab: vocab, Context: 1 << 30}})
	var down []*messages.EngineRequest
	now := time.Duration(0)
	var give func(to messages.Actor, msg any)
	run := func(handle func(out *messages.Outbox)) {
		out := &messages.Outbox{}
		handle(out)
		for _, s := range out.Sends {
			give(s.To, s.Msg)
		}
	}
	give = func(to messages.Actor, msg any) {
		if to == messages.Link || to == messages.Queue || to == messages.Former {
			if messages.HeaderOf(msg).Engine != dispatch.Self {
				if m, ok := msg.(*messages.EnqueueRequests); ok {
					down = append(down, m.Requests...)
				}
				run(func(out *messages.Outbox) { near.Handle(now, msg.(messages.ToLink), out) })
				return
			}
			to = messages.Dispatch
		}
		switch to {
		case messages.Dispatch:
			run(func(out *messages.Outbox) { broker.Handle(now, msg.(messages.ToDispatch), out) })
		case messages.Intake:
			run(func(out *messages.Outbox) { intake.Handle(now, msg.(messages.ToIntake), out) })
		}
	}
	seq := uint64(0)
	frame := func(f *wire.Frame) []byte {
		seq++
		f.Seq = seq
		bytes, err := proto.Marshal(f)
		if err != nil {
			b.Fatal(err)
		}
		return bytes
	}
	receive := func(bytes []byte) {
		f := &wire.Frame{}
		if err := proto.Unmarshal(bytes, f); err != nil {
			b.Fatal(err)
		}
		give(messages.Link, &messages.FrameReceived{Frame: f})
	}
	give(messages.Link, &messages.HeartbeatDue{})
	receive(frame(wire.EncodeEpochStarted(&messages.EpochStarted{Header: messages.Header{Epoch: 1}})))
	events := make(chan messages.CallEvent, 64)
	params := &messages.SamplingParams{TopP: 1, RepetitionPenalty: 1, MaxTokens: 1 << 29, TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs}
	for i := range streams {
		give(messages.Intake, &messages.SubmitRequests{Call: messages.CallID(i + 1), Events: events, Requests: []messages.Submission{{Prompt: []int32{1, 2, 3}, Params: params, Stream: true, After: -1}}})
		<-events
	}
	if len(down) != streams {
		b.Fatalf("%d requests have reached the link", len(down))
	}
	position := make([]int, streams)
	step, results, tokens := messages.StepID(0), uint64(0), 0
	var bytes []byte
	next := func() {
		step++
		results++
		m := &messages.StepResults{Header: messages.Header{Epoch: 1}, Seq: results, Step: step}
		for k := range rows {
			i := (int(step)*rows + k) % streams
			if position[i] == 0 {
				m.Admitted = append(m.Admitted, down[i].ID)
				m.Prompts = append(m.Prompts, messages.PromptResult{ID: down[i].ID})
			}
			m.Tokens = append(m.Tokens, messages.TokenResult{ID: down[i].ID, Position: position[i], Token: 7})
			position[i]++
		}
		bytes = frame(wire.EncodeResults(m))
	}
	drain := func() {
		for range rows {
			select {
			case <-events:
				tokens++
			default:
			}
		}
	}
	for range streams/rows + 1 {
		next()
		receive(bytes)
		drain()
	}
	tokens = 0
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if n++; n > 1 { // the engine's part is not measured
			b.StopTimer()
			next()
			b.StartTimer()
		} else {
			next()
		}
		receive(bytes)
		drain()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(max(tokens, 1)), "ns/token")
	b.ReportMetric(float64(len(bytes))/rows, "B/token")
}
