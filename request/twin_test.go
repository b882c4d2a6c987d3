package request

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/messages"
	"pgregory.net/rapid"
)

// shown is the slow twin of one request: what its client gets if the engine
// draws the script, computed from the whole text again after each token.
func shown(d *bytesDetok, s *messages.Submission, limit int, script []int32) (text string, n int, f messages.Finish) {
	p := s.Params
	bytes, quiet := "", 0
	for n = 1; ; n++ {
		tok := script[n-1]
		endTok := n > p.MinTokens && (!p.IgnoreEOS && slices.Contains(p.EOSTokenIDs, tok) || slices.Contains(p.StopTokenIDs, tok))
		if (!endTok || s.KeepStop) && (!d.special[tok] || s.KeepSpecial) {
			bytes += d.pieces[tok]
		}
		over := endTok || n >= min(p.MaxTokens, limit-len(s.Prompt))
		text, _ = whole(bytes, over)
		if n <= p.MinTokens {
			// An end may also come by the limit here; then nothing is matched.
			quiet = len(text)
		}
		if end, which := firstStop(text, s.Stop, quiet); which >= 0 {
			text = text[:end]
			if !s.KeepStop {
				text = text[:end-len(s.Stop[which])]
			}
			return text, n, messages.Finish{Reason: messages.FinishStop, MatchedToken: -1, MatchedStop: s.Stop[which]}
		}
		switch {
		case endTok:
			return text, n, messages.Finish{Reason: messages.FinishStop, MatchedToken: tok}
		case over:
			return text, n, messages.Finish{Reason: messages.FinishLength, MatchedToken: -1}
		}
	}
}

// scriptEngine is an engine that draws each request's script, with ends of its
// own, acknowledgements and crashes.
type scriptEngine struct {
	rt      *rapid.T
	scripts map[messages.RequestID][]int32
	running []*running
	cancels []messages.RequestID
	queue   []messages.Send // sent by intake, not yet seen
}

type running struct {
	req   *messages.EngineRequest
	n     int  // output tokens
	ended bool // with its last token; its release may come later
	why   messages.EndReason
}

// accept reads what intake has sent, oldest first.
func (g *scriptEngine) accept() {
	for _, s := range g.queue {
		switch m := s.Msg.(type) {
		case *messages.EnqueueRequests:
			for _, q := range m.Requests {
				if !slices.Equal(q.Output, g.scripts[q.ID][:len(q.Output)]) {
					g.rt.Fatalf("request %d was resubmitted with %v, script %v", q.ID, q.Output, g.scripts[q.ID])
				}
				g.running = append(g.running, &running{req: q, n: len(q.Output)})
			}
		case *messages.FinishRequests:
			g.cancels = append(g.cancels, m.IDs...)
		case *messages.FailEpoch:
			g.rt.Fatalf("intake ends the epoch: %s", m.Cause)
		}
	}
	g.queue = nil
}

// step makes the next StepResults: tokens for some of the running, ends.
func (g *scriptEngine) step() (m messages.StepResults) {
	kept := g.running[:0]
	for _, r := range g.running {
		id := r.req.ID
		cancelled := slices.Contains(g.cancels, id)
		switch {
		case cancelled && rapid.Bool().Draw(g.rt, "acknowledge"):
			m.Ended = append(m.Ended, messages.RequestEnded{ID: id, Reason: messages.EndCancelled})
			continue
		case r.ended && rapid.Bool().Draw(g.rt, "release"):
			m.Ended = append(m.Ended, messages.RequestEnded{ID: id, Reason: r.why})
			continue
		case !r.ended && rapid.IntRange(0, 3).Draw(g.rt, "turn") > 0:
			if r.n == len(r.req.Output) {
				m.Prompts = append(m.Prompts, messages.PromptResult{ID: id, CachedTokens: 1})
			}
			var tok int32
			for range rapid.IntRange(1, 4).Draw(g.rt, "tokens") { // more than one as by a device that speculates
				tok = g.scripts[id][r.n]
				m.Tokens = append(m.Tokens, messages.TokenResult{ID: id, Position: r.n, Token: tok})
				r.n++
				if r.why = r.req.Params.EndOf(tok, r.n); r.why != 0 {
					r.ended = true
					break
				}
			}
			if r.ended && rapid.Bool().Draw(g.rt, "at once") {
				m.Ended = append(m.Ended, messages.RequestEnded{ID: id, Reason: r.why, Token: tok})
				continue
			}
		}
		kept = append(kept, r)
	}
	g.running = kept
	return m
}

// TestCoreEqualsTwin runs random calls with random stop strings through random
// steps, new limits, lost and ended epochs, panics at any call of the detokeniser with the
// message delivered again or lost, and slow readers. Every client must get
// exactly what the twin says.
func TestCoreEqualsTwin(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := &bytesDetok{pieces: []string{"a", "b", "ab", "ba", "\xc3", "\xa9", "aa", "c", "<eos>", " b"}, special: map[int32]bool{8: true}}
		opt := TableOptions{ContextLength: 40, PoolTokens: 1000, Vocab: 10, MaxOpenRequests: 100}
		r := newRigWith(t, opt, d)
		g := &scriptEngine{rt: rt, scripts: map[messages.RequestID][]int32{}}
		word := rapid.StringOfN(rapid.SampledFrom([]rune("aabbcé")), 1, 4, -1)

		type open struct {
			*client
			call messages.CallID
			subs []messages.Submission
		}
		var clients []*open
		id := messages.RequestID(0)
		for range rapid.IntRange(1, 3).Draw(rt, "calls") {
			o := &open{client: newClient(4), call: messages.CallID(len(clients) + 1)}
			for i := range rapid.IntRange(1, 3).Draw(rt, "n") {
				p := params()
				p.EOSTokenIDs, p.Seed = []int32{8}, 1
				p.MaxTokens = rapid.IntRange(1, 50).Draw(rt, "max")
				p.MinTokens = rapid.IntRange(0, min(6, p.MaxTokens)).Draw(rt, "min")
				p.IgnoreEOS = rapid.Bool().Draw(rt, "ignore")
				p.StopTokenIDs = rapid.SampledFrom([][]int32{nil, {7}, {3, 8}}).Draw(rt, "stop tokens")
				o.subs = append(o.subs, messages.Submission{Prompt: []int32{1, 2, 3}, Params: p,
					Stop:     rapid.SliceOfN(word, 0, 3).Draw(rt, "stops"),
					KeepStop: rapid.Bool().Draw(rt, "keep"), KeepSpecial: rapid.Bool().Draw(rt, "special"),
					Stream: rapid.Bool().Draw(rt, "stream"), After: rapid.IntRange(-1, i-1).Draw(rt, "after")})
				id++
				g.scripts[id] = rapid.SliceOfN(rapid.Int32Range(0, 9), 37, 37).Draw(rt, "script")
			}
			clients = append(clients, o)
		}
		nextEpoch := func() {
			r.end()
			g.running, g.cancels, g.queue = nil, nil, nil
			r.epoch, r.seq = r.epoch+1, 0
			g.queue = r.step(&messages.EpochStarted{Header: messages.Header{Epoch: r.epoch}})
		}
		// deliver sends intake a message, through crashes; false: it is lost
		// and the epoch with it.
		deliver := func(msg messages.ToIntake) {
			for crashed := true; crashed; {
				crashed = false
				if rapid.IntRange(0, 9).Draw(rt, "crash") == 0 {
					d.panicAt = d.calls + rapid.IntRange(1, 8).Draw(rt, "at")
				}
				func() {
					defer func() {
						if x := recover(); x != nil {
							if _, injected := x.(string); !injected {
								panic(x)
							}
							crashed = true
							if got := r.core.Suspects(msg); len(got) != 1 {
								rt.Fatalf("suspects %v", got)
							}
						}
					}()
					g.queue = append(g.queue, r.step(msg)...)
				}()
				d.panicAt = 0
				if crashed {
					r.table.check()
					r.core = NewCore(r.table, CoreOptions{Detokenizer: d})
					if rapid.Bool().Draw(rt, "lost") {
						nextEpoch()
						return
					}
				}
			}
		}
		for _, o := range clients {
			deliver(&messages.SubmitRequests{Call: o.call, Requests: slices.Clone(o.subs), Events: o.events})
		}
		nextEpoch()
		unfinished := func() bool {
			return slices.ContainsFunc(clients, func(o *open) bool { return len(o.finish) < len(o.subs) })
		}
		for rounds := 0; unfinished() || r.table.Open() > 0; rounds++ {
			if rounds > 5000 {
				rt.Fatalf("no end: %d open", r.table.Open())
			}
			g.accept()
			r.seq++
			m := g.step()
			m.Epoch, m.Seq = r.epoch, r.seq
			deliver(&m)
			if rapid.IntRange(0, 40).Draw(rt, "epoch") == 0 {
				nextEpoch()
			}
			if rapid.IntRange(0, 9).Draw(rt, "configure") == 0 { // open requests do not notice
				n, d := rapid.IntRange(-1, 2).Draw(rt, "limit"), time.Duration(rapid.IntRange(-1, 5).Draw(rt, "timeout"))
				deliver(&messages.ConfigureIntake{Reply: make(chan string, 1), Limits: messages.IntakeLimits{
					MaxOpenRequests: n, MaxQueuedTokens: n, MaxQueuedRequests: n, QueueTimeout: d, RequestTimeout: d}})
				deliver(&messages.DeadlinesDue{At: r.now})
			}
			for _, o := range clients {
				if rapid.Bool().Draw(rt, "slow") {
					continue
				}
				o.paused = false
				if o.read(); o.paused {
					deliver(&messages.ResumeOutput{Call: o.call})
				}
			}
		}
		id = 0
		for _, o := range clients {
			for i := range o.subs {
				id++
				text, n, f := shown(d, &o.subs[i], opt.limit(), g.scripts[id])
				end := o.finish[i]
				what := fmt.Sprintf("request %d stops %q script %v", id, o.subs[i].Stop, g.scripts[id][:n])
				if o.text[i] != text || *end.Finish != f {
					rt.Fatalf("%s: got %q %+v, want %q %+v", what, o.text[i], *end.Finish, text, f)
				}
				if want := (messages.Usage{PromptTokens: 3, CompletionTokens: n, CachedTokens: 1}); end.Usage != want {
					rt.Fatalf("%s: usage %+v, want %+v", what, end.Usage, want)
				}
				if len(o.tokens[i]) != n {
					rt.Fatalf("%s: %d tokens, want %d", what, len(o.tokens[i]), n)
				}
				last := 0
				for k, tok := range o.tokens[i] {
					if tok.Token != g.scripts[id][k] || tok.TextOffset < last || tok.TextOffset > len(text) {
						rt.Fatalf("%s: tokens %v", what, o.tokens[i])
					}
					last = tok.TextOffset
				}
			}
		}
	})
}
