package former

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/troupe-engine/troupe/messages"
)

// args are key=value arguments.
type args map[string]string

func arguments(fields []string) args {
	a := args{}
	for _, f := range fields {
		key, value, _ := strings.Cut(f, "=")
		a[key] = value
	}
	return a
}

func (a args) number(key string, unset int) int {
	n, err := strconv.Atoi(a[key])
	if err != nil {
		return unset
	}
	return n
}

// tokens parses "5*8", eight tokens from 5 on, and lists "5*3,9".
func (a args) tokens(key string) (list []int32) {
	for part := range strings.SplitSeq(a[key], ",") {
		first, count, ranged := strings.Cut(part, "*")
		n, err := strconv.Atoi(first)
		if err != nil {
			continue
		}
		times := 1
		if ranged {
			times, _ = strconv.Atoi(count)
		}
		for i := range times {
			list = append(list, int32(n+i))
		}
	}
	return list
}

func parseRequest(id messages.RequestID, fields []string) *messages.EngineRequest {
	a := arguments(fields)
	r := &messages.EngineRequest{
		ID: id, Prompt: a.tokens("prompt"), Output: a.tokens("output"), Alone: a.number("alone", 0) == 1,
		Params: &messages.SamplingParams{
			MaxTokens: a.number("max", 4), MinTokens: a.number("min", 0), EOSTokenIDs: a.tokens("eos"), StopTokenIDs: a.tokens("stop"),
			IgnoreEOS: a.number("ignore", 0) == 1, TopLogprobs: messages.NoLogprobs,
			PromptLogprobs: a.number("logprobs", messages.NoLogprobs), PromptLogprobStart: a.number("start", 0),
		},
	}
	if a.number("grammar", 0) == 1 {
		r.Params.Grammar = &messages.Grammar{}
	}
	return r
}

// describe is one line about a message; "" for those that no script is about.
func describe(msg any) string {
	var b strings.Builder
	add := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	switch m := msg.(type) {
	case *messages.OfferCandidates:
		add("Offer limit=%d", m.Limit)
	case *messages.CandidatesOffered:
		add("Offered")
		for _, r := range m.Requests {
			add(" %d", r.ID)
		}
		add(" of %d", m.Waiting)
	case *messages.ClaimCandidates:
		add("Claim %d", m.IDs)
	case *messages.LockPrefixes:
		add("Lock")
		for _, p := range m.Prefixes {
			add(" %d:%d", p.ID, p.Limit)
		}
	case *messages.PrefixesLocked:
		add("Locked")
		for _, p := range m.Matches {
			add(" %d:%dp", p.ID, len(p.Pages))
		}
		add(" evictable=%d protected=%d", m.Cached.Evictable, m.Cached.Protected)
	case *messages.CommitPlan:
		describeCommit(m, add)
	case *messages.PagesReserved:
		add("Reserved")
		for _, g := range m.Granted {
			add(" %d:%v", g.ID, g.Pages)
		}
		for _, i := range m.Inserted {
			if len(i.Pages) > 0 {
				add(" replace %d from %d:%v", i.ID, i.First, i.Pages)
			}
		}
		add(" free=%d evictable=%d protected=%d", m.Free, m.Cached.Evictable, m.Cached.Protected)
	case *messages.RunBatch:
		describeStep(m, add)
	case *messages.StepResults:
		describeResults(m, add)
	case *messages.CacheFlushed:
		add("CacheFlushed %d pages=%d", m.Ticket, m.Pages)
	case *messages.FlushRefused:
		add("FlushRefused %d running=%d", m.Ticket, m.Running)
	case *messages.SlotsAudited:
		add("SlotsAudited %d ok=%t %+v", m.Ticket, m.OK, m.Count)
	case *messages.FailEpoch:
		add("FailEpoch suspects=%v: %s", m.Suspects, m.Cause)
	}
	return b.String()
}

func describeCommit(m *messages.CommitPlan, add func(string, ...any)) {
	add("Commit")
	for _, i := range m.Inserts {
		add(" insert %d:%v", i.ID, i.Pages)
		if i.Owned > 0 {
			add(" owned=%d", i.Owned)
		}
		if i.Keep {
			add(" keep")
		}
		if i.KeepCopies {
			add(" copies")
		}
	}
	if len(m.Unlocks) > 0 {
		add(" unlock*%d", len(m.Unlocks))
	}
	if m.EvictAll {
		add(" evict all")
	} else if m.EvictPages > 0 {
		add(" evict=%d", m.EvictPages)
	}
	if len(m.Frees) > 0 {
		add(" free%v", m.Frees)
	}
	for _, r := range m.Reserves {
		add(" reserve %d:%d", r.ID, r.Pages)
	}
}

func describeStep(m *messages.RunBatch, add func(string, ...any)) {
	add("Run %d", m.Step)
	if len(m.Closed) > 0 {
		add(" closed%v", m.Closed)
	}
	for _, o := range m.Opened {
		add(" open r%d=%d%v", o.Row, o.Request.ID, o.Pages)
		if len(o.Output) > 0 {
			add(" output%v", o.Output)
		}
	}
	for _, r := range m.Replaced {
		add(" replace r%d from %d%v", r.Row, r.First, r.Pages)
	}
	for _, g := range m.Grown {
		add(" grow r%d%v", g.Row, g.Pages)
	}
	for _, w := range m.Work {
		add(" · r%d [%d,%d)", w.Row, w.Start, w.Start+w.Count)
		if w.Sample > 0 {
			add("*")
		}
		if w.Sample > 1 {
			add("%d", w.Sample)
		}
	}
}

func describeResults(m *messages.StepResults, add func(string, ...any)) {
	add("Results %d step=%d", m.Seq, m.Step)
	if m.Step == 0 && len(m.Admitted) > 0 { // otherwise the claim shows them
		add(" admitted %v", m.Admitted)
	}
	for _, p := range m.Prompts {
		add(" prompt %d cached=%d", p.ID, p.CachedTokens)
		if p.Logprobs != nil {
			add(" logprobs=%d", len(p.Logprobs))
		}
	}
	for _, t := range m.Tokens {
		add(" %d[%d]=%d", t.ID, t.Position, t.Token)
	}
	for _, e := range m.Ended {
		add(" end %d %s", e.ID, e.Reason)
	}
}
