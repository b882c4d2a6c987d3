package wire

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/messages"
)

var limits = Limits{Vocab: 1000, Context: 64, Logprobs: 5}

const slot = messages.EngineID(7)

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// over sends a message of protobuf over the wire.
func over[M proto.Message](t failer, from, to M) M {
	t.Helper()
	text, err := proto.Marshal(from)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if err := proto.Unmarshal(text, to); err != nil {
		t.Fatalf("%v", err)
	}
	return to
}

func same(t failer, got, want any, err error) {
	t.Helper()
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v (%v), want %+v", got, err, want)
	}
}

func drawHeader(t *rapid.T) messages.Header {
	return messages.Header{Engine: slot, Epoch: messages.Epoch(rapid.Uint32().Draw(t, "epoch"))}
}

func drawTokens(t *rapid.T, least, most int) []int32 {
	list := rapid.SliceOfN(rapid.Int32Range(0, int32(limits.Vocab-1)), least, most).Draw(t, "tokens")
	if len(list) == 0 {
		return nil
	}
	return list
}

func drawParams(t *rapid.T) *messages.SamplingParams {
	f := func(low, high float32) float32 { return rapid.Float32Range(low, high).Draw(t, "number") }
	p := &messages.SamplingParams{
		Temperature: f(0, 5), TopP: f(0.01, 1), TopK: rapid.Int32Min(0).Draw(t, "k"), MinP: f(0, 1),
		FrequencyPenalty: f(-2, 2), PresencePenalty: f(-2, 2), RepetitionPenalty: f(0.01, 2),
		Seed: rapid.Uint64().Draw(t, "seed"), Choice: rapid.Uint32().Draw(t, "choice"), MaxTokens: rapid.IntRange(9, 40).Draw(t, "most"),
		StopTokenIDs: drawTokens(t, 0, 3), EOSTokenIDs: drawTokens(t, 0, 3), IgnoreEOS: rapid.Bool().Draw(t, "ignore"),
		TopLogprobs: rapid.IntRange(-1, 5).Draw(t, "top"), PromptLogprobs: rapid.IntRange(-1, 5).Draw(t, "prompt"),
		PromptLogprobStart: rapid.IntRange(0, 90).Draw(t, "start"),
	}
	if rapid.Bool().Draw(t, "grammar") {
		p.Grammar = &messages.Grammar{Kind: rapid.StringN(0, 9, -1).Draw(t, "kind"), Text: rapid.StringN(0, 30, -1).Draw(t, "text")}
		if rapid.Bool().Draw(t, "thoughts") {
			p.Grammar.Thoughts = &messages.Thoughts{Tokens: rapid.IntRange(0, 99).Draw(t, "budget"), Open: rapid.StringN(0, 9, -1).Draw(t, "open"), Mark: rapid.StringN(0, 9, -1).Draw(t, "mark"), End: drawTokens(t, 0, 3)}
		}
	}
	p.MinTokens = rapid.IntRange(0, p.MaxTokens).Draw(t, "least")
	for token := int32(0); token < 900 && rapid.Bool().Draw(t, "bias"); {
		token += rapid.Int32Range(1, 90).Draw(t, "step")
		p.LogitBias = append(p.LogitBias, messages.TokenBias{Token: token, Bias: f(-100, 100)})
	}
	return p
}

func drawPosition(t *rapid.T) *messages.PositionLogprobs {
	draw := func() messages.TokenLogprob {
		return messages.TokenLogprob{Token: rapid.Int32Range(0, 999).Draw(t, "token"), Logprob: rapid.Float32Range(-90, 0).Draw(t, "logprob")}
	}
	p := &messages.PositionLogprobs{Chosen: draw()}
	for range rapid.IntRange(0, 5).Draw(t, "top") {
		p.Top = append(p.Top, draw())
	}
	return p
}

// Requests arrive as they were sent. Their age is the same on the clock of the other node.
func TestRequestsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sent, here := rapid.Int64Range(0, 1<<40).Draw(t, "clock"), rapid.Int64Range(0, 1<<40).Draw(t, "other clock")
		m := &messages.EnqueueRequests{Header: drawHeader(t)}
		want := &messages.EnqueueRequests{Header: m.Header}
		for i := range rapid.IntRange(1, 3).Draw(t, "n") {
			r := messages.EngineRequest{
				ID: messages.RequestID(i*5 + 1), Prompt: drawTokens(t, 1, 20), Output: drawTokens(t, 0, 8), Params: drawParams(t),
				Namespace: rapid.StringN(0, 9, -1).Draw(t, "namespace"), Priority: rapid.Int32().Draw(t, "priority"), Tenant: rapid.StringN(0, 9, -1).Draw(t, "tenant"),
				Arrived: time.Duration(rapid.Int64Range(0, sent).Draw(t, "arrived")), Alone: rapid.Bool().Draw(t, "alone"), Fingerprint: rapid.StringN(0, 9, -1).Draw(t, "fingerprint"),
			}
			moved := r
			moved.Arrived = r.Arrived - time.Duration(sent) + time.Duration(here)
			m.Requests, want.Requests = append(m.Requests, &r), append(want.Requests, &moved)
		}
		got, err := DecodeDownBulk(over(t, EncodeEnqueue(m, time.Duration(sent))[0], &Bulk{}), slot, time.Duration(here), &limits)
		same(t, got, want, err)
	})
}

func TestMessagesOfGatewaysRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, ticket := drawHeader(t), messages.Ticket(rapid.Uint64().Draw(t, "ticket"))
		finish := &messages.FinishRequests{Header: h}
		for range rapid.IntRange(0, 4).Draw(t, "n") {
			finish.IDs = append(finish.IDs, messages.RequestID(rapid.Uint64().Draw(t, "id")))
		}
		describe := &messages.DescribeCache{Header: h, Ticket: ticket, Limits: messages.CacheLimits{Depth: 1, Nodes: rapid.IntRange(0, 1<<30).Draw(t, "nodes"), Tokens: 3}}
		flush, audit := &messages.FlushCache{Header: h, Ticket: ticket}, &messages.AuditSlots{Header: h, Ticket: ticket}
		for want, f := range map[messages.ToPortal]*Frame{
			describe: EncodeDescribe(describe), flush: EncodeFlush(flush), audit: EncodeAudit(audit),
		} {
			got, err := DecodeDown(over(t, f, &Frame{}), slot)
			same(t, got, want, err)
		}
		got, err := DecodeDownBulk(over(t, EncodeFinish(finish), &Bulk{}), slot, 0, &limits)
		same(t, got, finish, err)
	})
}

func drawResults(t *rapid.T) *messages.StepResults {
	id := func() messages.RequestID { return messages.RequestID(rapid.Uint64().Draw(t, "id")) }
	m := &messages.StepResults{Header: drawHeader(t), Seq: rapid.Uint64().Draw(t, "seq"), Step: messages.StepID(rapid.Uint64().Draw(t, "step")), Tokens: []messages.TokenResult{}}
	for range rapid.IntRange(0, 3).Draw(t, "admitted") {
		m.Admitted = append(m.Admitted, id())
	}
	for range rapid.IntRange(0, 3).Draw(t, "prompts") {
		p := messages.PromptResult{ID: id(), CachedTokens: rapid.IntRange(0, limits.Context).Draw(t, "cached")}
		for range rapid.IntRange(0, 2).Draw(t, "positions") {
			p.Logprobs = append(p.Logprobs, *drawPosition(t))
		}
		m.Prompts = append(m.Prompts, p)
	}
	for range rapid.IntRange(0, 9).Draw(t, "tokens") {
		r := messages.TokenResult{ID: id(), Position: rapid.IntRange(0, 1<<31).Draw(t, "position"), Token: rapid.Int32Range(0, 999).Draw(t, "token")}
		if rapid.Bool().Draw(t, "logprobs") {
			r.Logprobs = drawPosition(t)
		}
		m.Tokens = append(m.Tokens, r)
	}
	for range rapid.IntRange(0, 3).Draw(t, "ended") {
		m.Ended = append(m.Ended, messages.RequestEnded{
			ID: id(), Reason: messages.EndReason(rapid.IntRange(int(messages.EndEOS), int(messages.EndInternal)).Draw(t, "reason")),
			Token: rapid.Int32Range(0, 999).Draw(t, "token"), Why: rapid.StringN(0, 20, -1).Draw(t, "why"),
		})
	}
	return m
}

func TestMessagesOfEnginesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, ticket := drawHeader(t), messages.Ticket(rapid.Uint64().Draw(t, "ticket"))
		results := drawResults(t)
		started, ended := &messages.EpochStarted{Header: h}, &messages.EpochEnded{Header: h, Cause: rapid.StringN(0, 20, -1).Draw(t, "cause"), Suspects: results.Admitted}
		flushed, refused := &messages.CacheFlushed{Header: h, Ticket: ticket, Pages: rapid.IntRange(0, 1<<30).Draw(t, "pages")}, &messages.FlushRefused{Header: h, Ticket: ticket, Running: 3}
		audited := &messages.SlotsAudited{Header: h, Ticket: ticket, Count: messages.PageCount{Free: 1, Evictable: 2, Protected: 3, Leased: 4, InTransfer: 5, Total: 15}, OK: true}
		for want, f := range map[messages.ToDispatch]*Frame{
			results: EncodeResults(results), started: EncodeEpochStarted(started), ended: EncodeEpochEnded(ended),
			flushed: EncodeCacheFlushed(flushed), refused: EncodeFlushRefused(refused), audited: EncodeSlotsAudited(audited),
		} {
			got, err := DecodeUp(over(t, f, &Frame{}), slot, &limits)
			same(t, got, want, err)
		}
		changed := &messages.CacheChanged{Header: h, Seq: 4, Events: []messages.CacheEvent{
			{Kind: messages.PagesStored, Hashes: []uint64{1, rapid.Uint64().Draw(t, "hash")}}, {Kind: messages.PagesRemoved, Hashes: []uint64{2}}, {Kind: messages.PagesCleared},
		}}
		got, err := DecodeUpBulk(over(t, EncodeCacheChanged(changed), &Bulk{}), slot)
		same(t, got, changed, err)
	})
}

type drawing struct{ Nodes int }

func (d drawing) Text(ages bool) string { return fmt.Sprint(d.Nodes, ages) }

// A description arrives as the same JSON and the same drawings.
func TestDescriptionsRoundTrip(t *testing.T) {
	b, err := EncodeCacheDescribed(&messages.CacheDescribed{Header: messages.Header{Epoch: 3}, Ticket: 9, View: drawing{5}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := DecodeUpBulk(over(t, b, &Bulk{}), slot)
	if err != nil {
		t.Fatal(err)
	}
	d := m.(*messages.CacheDescribed)
	text, err := json.Marshal(d.View)
	if err != nil || string(text) != `{"Nodes":5}` || d.View.Text(true) != "5 true" || d.View.Text(false) != "5 false" || d.Header != (messages.Header{Engine: slot, Epoch: 3}) || d.Ticket != 9 {
		t.Errorf("%s (%v), %q in %+v", text, err, d.View.Text(true), d)
	}
}

// Without log probabilities a token takes less than 16 bytes.
func TestATokenTakesFewBytes(t *testing.T) {
	m := &messages.StepResults{Seq: 1 << 20, Step: 1 << 20}
	for i := range 64 {
		m.Tokens = append(m.Tokens, messages.TokenResult{ID: messages.RequestID(1<<24 + i*977), Position: 5000 + i, Token: int32(150_000 - i)})
	}
	f := EncodeResults(m)
	f.Seq = 1 << 30
	if n := proto.Size(f); n >= 16*len(m.Tokens) {
		t.Errorf("%d tokens take %d bytes", len(m.Tokens), n)
	}
}
