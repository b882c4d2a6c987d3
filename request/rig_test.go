package request

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/troupe-engine/troupe/messages"
)

// bytesDetok decodes token i to pieces[i]; pieces may split characters.
type bytesDetok struct {
	pieces  []string
	special map[int32]bool
	calls   int
	panicAt int // the call that panics, 0: none
}

func (d *bytesDetok) tick() {
	d.calls++
	if d.calls == d.panicAt {
		panic(fmt.Sprintf("injected into call %d of the detokeniser", d.calls))
	}
}

func (d *bytesDetok) NewStream(_ []int32, keepSpecial, _ bool) Stream {
	d.tick()
	return &bytesStream{d: d, keep: keepSpecial}
}

type bytesStream struct {
	d    *bytesDetok
	keep bool
	rest string
}

// whole decodes as many characters as are complete, all of them at the end.
func whole(b string, end bool) (text, rest string) {
	var out strings.Builder
	for b != "" {
		if !utf8.FullRuneInString(b) {
			if !end {
				return out.String(), b
			}
			out.WriteRune(utf8.RuneError)
			return out.String(), ""
		}
		r, n := utf8.DecodeRuneInString(b)
		out.WriteRune(r)
		b = b[n:]
	}
	return out.String(), ""
}

func (s *bytesStream) Push(id int32) string {
	// A crash may leave a half-changed stream.
	before := s.rest
	s.rest = "half-changed"
	s.d.tick()
	s.rest = before
	if s.d.special[id] && !s.keep {
		return ""
	}
	var text string
	text, s.rest = whole(s.rest+s.d.pieces[id], false)
	return text
}

func (s *bytesStream) Flush() string {
	s.d.tick()
	text, _ := whole(s.rest, true)
	return text
}

// letters decode token i to the i-th letter; the last ones are special.
func letters() *bytesDetok {
	d := &bytesDetok{special: map[int32]bool{eos: true}}
	for i := range int32(26) {
		d.pieces = append(d.pieces, string(rune('a'+i)))
	}
	d.pieces = append(d.pieces, "<eos>")
	return d
}

const eos = 26

// ids turns a word into tokens of letters; '.' is eos.
func ids(word string) []int32 {
	var out []int32
	for _, r := range word {
		if r == '.' {
			out = append(out, eos)
		} else {
			out = append(out, r-'a')
		}
	}
	return out
}

// rig drives a core as its shell would and keeps the effects.
type rig struct {
	t     testing.TB
	table *Table
	core  *Core
	out   messages.Outbox
	now   time.Duration
	epoch messages.Epoch
	seq   uint64
}

func tableOptions() TableOptions {
	return TableOptions{ContextLength: 64, PoolTokens: 48, Vocab: 27, MaxOpenRequests: 8, MaxQueuedTokens: 60, MaxLogprobs: 5}
}

func newRig(t testing.TB, d Detokenizer) *rig { return newRigWith(t, tableOptions(), d) }

func newRigWith(t testing.TB, opt TableOptions, d Detokenizer) *rig {
	table := NewTable(opt)
	return &rig{t: t, table: table, core: NewCore(table, CoreOptions{Detokenizer: d})}
}

// step runs a message and returns what was sent to others.
func (r *rig) step(msg messages.ToIntake) []messages.Send {
	r.t.Helper()
	r.out.Reset()
	r.now += time.Millisecond
	r.core.Handle(r.now, msg, &r.out)
	r.table.check()
	return append([]messages.Send(nil), r.out.Sends...)
}

// start begins the next epoch and returns what is enqueued.
func (r *rig) start() []*messages.EngineRequest {
	r.t.Helper()
	r.epoch++
	r.seq = 0
	return enqueued(r.step(&messages.EpochStarted{Header: messages.Header{Epoch: r.epoch}}))
}

func (r *rig) end(suspects ...messages.RequestID) []messages.Send {
	r.t.Helper()
	return r.step(&messages.EpochEnded{Header: messages.Header{Epoch: r.epoch}, Cause: "test", Suspects: suspects})
}

// results sends one StepResults in sequence.
func (r *rig) results(m messages.StepResults) []messages.Send {
	r.t.Helper()
	r.seq++
	m.Epoch, m.Seq = r.epoch, r.seq
	return r.step(&m)
}

// tokens sends a request tokens one by one, as separate steps.
func (r *rig) tokens(id messages.RequestID, from int, list ...int32) (sends []messages.Send) {
	r.t.Helper()
	for i, tok := range list {
		sends = append(sends, r.results(messages.StepResults{Tokens: []messages.TokenResult{{ID: id, Position: from + i, Token: tok}}})...)
	}
	return sends
}

// list sends a request tokens in one step, as a device that speculates does.
func (r *rig) list(id messages.RequestID, from int, list ...int32) []messages.Send {
	r.t.Helper()
	m := messages.StepResults{}
	for i, tok := range list {
		m.Tokens = append(m.Tokens, messages.TokenResult{ID: id, Position: from + i, Token: tok})
	}
	return r.results(m)
}

func (r *rig) released(id messages.RequestID, why messages.EndReason) {
	r.t.Helper()
	r.results(messages.StepResults{Ended: []messages.RequestEnded{{ID: id, Reason: why}}})
}

// reading sums the readings of the last step for a metric.
func (r *rig) reading(m messages.Metric) (sum float64) {
	for _, x := range r.out.Readings {
		if x.Metric == m {
			sum += x.Value
		}
	}
	return sum
}

func enqueued(sends []messages.Send) (list []*messages.EngineRequest) {
	for _, s := range sends {
		if m, ok := s.Msg.(*messages.EnqueueRequests); ok && s.To == messages.Queue {
			list = append(list, m.Requests...)
		}
	}
	return list
}

func finished(sends []messages.Send) (ids []messages.RequestID) {
	for _, s := range sends {
		if m, ok := s.Msg.(*messages.FinishRequests); ok && s.To == messages.Queue {
			ids = append(ids, m.IDs...)
		}
	}
	return ids
}

func failedEpoch(sends []messages.Send) string {
	for _, s := range sends {
		if m, ok := s.Msg.(*messages.FailEpoch); ok && s.To == messages.Supervisor {
			return m.Cause
		}
	}
	return ""
}

func params() *messages.SamplingParams {
	return &messages.SamplingParams{TopP: 1, RepetitionPenalty: 1, MaxTokens: 20, EOSTokenIDs: []int32{eos},
		TopLogprobs: messages.NoLogprobs, PromptLogprobs: messages.NoLogprobs}
}

func submission(stop ...string) messages.Submission {
	return messages.Submission{Prompt: ids("hello"), Params: params(), Stop: stop, Stream: true, After: -1}
}

// client is the reading side of a call.
type client struct {
	events   chan messages.CallEvent
	accepted []messages.RequestID
	refused  *messages.CallRefused
	outputs  []*messages.CallOutput
	text     map[int]string
	tokens   map[int][]messages.OutputToken
	finish   map[int]*messages.CallOutput
	paused   bool
}

func newClient(capacity int) *client {
	return &client{events: make(chan messages.CallEvent, capacity), text: map[int]string{}, tokens: map[int][]messages.OutputToken{}, finish: map[int]*messages.CallOutput{}}
}

// read drains the channel.
func (c *client) read() *client {
	for {
		select {
		case ev := <-c.events:
			c.take(ev)
		default:
			return c
		}
	}
}

func (c *client) take(ev messages.CallEvent) {
	switch ev := ev.(type) {
	case *messages.CallAccepted:
		c.accepted = ev.Requests
	case *messages.CallRefused:
		c.refused = ev
	case *messages.CallOutput:
		c.outputs = append(c.outputs, ev)
		c.text[ev.Index] += ev.Text
		c.tokens[ev.Index] = append(c.tokens[ev.Index], ev.Tokens...)
		c.paused = c.paused || ev.Paused
		if ev.Finish != nil {
			if c.finish[ev.Index] != nil {
				panic("a request finished twice")
			}
			c.finish[ev.Index] = ev
		} else if c.finish[ev.Index] != nil {
			panic("output after the finish")
		}
	}
}

// submit opens a call and returns its client.
func (r *rig) submit(id messages.CallID, user string, list ...messages.Submission) (*client, []messages.Send) {
	r.t.Helper()
	c := newClient(64)
	sends := r.step(&messages.SubmitRequests{Call: id, UserID: user, Requests: list, Events: c.events})
	return c.read(), sends
}
