package exec_test

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/model"
	"github.com/troupe-engine/troupe/model/bundled"
	"github.com/troupe-engine/troupe/model/exec"
	"github.com/troupe-engine/troupe/model/grammar"
	"github.com/troupe-engine/troupe/model/grammar/store"
	"github.com/troupe-engine/troupe/model/grammar/thoughts"
	tokens "github.com/troupe-engine/troupe/model/grammar/vocab"
	"github.com/troupe-engine/troupe/testkit/racedetector"
)

// bundledGrammars are for the vocabulary of the embedded model.
func bundledGrammars(t testing.TB) *store.Store {
	t.Helper()
	_, v, err := model.Directory(bundled.FS()).Vocabulary()
	if err != nil {
		t.Fatal(err)
	}
	return store.New(v, store.Options{})
}

// runGrammars have runs of certain tokens: long ones, short ones, before every kind of choice,
// and to the end of the text.
var runGrammars = []messages.Grammar{
	{Kind: "choice", Text: `["the little fox went to the river and to the forest, where it slept", "the little fox went to the rivers", "a cat"]`},
	{Kind: "json_schema", Text: `{"type":"object","properties":{"temperature_unit":{"enum":["celsius","fahrenheit"]},"the_old_city":{"type":"string","maxLength":9}},"required":["temperature_unit","the_old_city"],"additionalProperties":false}`},
	{Kind: "regex", Text: `(order by (Id|Name) and then |x)*y`},
	{Kind: "regex", Text: `Once upon a time there was a (little )?(fox|girl)[a-z]{0,4}\.`},
	{Kind: "ebnf", Text: `root ::= "question: " item ("; the answer is " item)*
item ::= [a-z] [a-z]? | "(" root ")"`},
	{Kind: "regex", Text: `é日本[\n ]{1,3}🦊 was here(🦊| )`},
	{Kind: "regex", Text: `a{40}b?`},
	{Kind: "regex", Text: thinkingText},
}

// thinkingText may begin with thoughts.
const thinkingText = `(<t>[a-z ]*</t>)?(yes|no|perhaps)`

// lettersOf are the tokens of one letter that a text has.
func lettersOf(v *tokens.Vocabulary, text string) (ids []int32) {
	for i := range text {
		for id := range int32(v.Size()) {
			if string(v.Bytes(id)) == text[i:i+1] {
				ids = append(ids, id)
				break
			}
		}
	}
	return ids
}

// imagined is a model that computes nothing. The next token of a row is one of those that the
// mask allows, by a hash of its tokens.
type imagined struct {
	t    testing.TB
	rows map[gpu.Row][]int32
	runs int // tokens that were certain
	// It waits for as many masks of each few, and is late for others that are not made.
	patience, masks int
}

// choose returns one of the allowed tokens.
func choose(row []int32, mask []uint32) int32 {
	n := 0
	for _, word := range mask {
		n += bits.OnesCount32(word)
	}
	hash := uint64(14695981039346656037)
	for _, token := range row {
		hash = (hash ^ uint64(token)) * 1099511628211
	}
	k := int((hash >> 20) % uint64(n))
	for i, word := range mask {
		for ; word != 0; word &= word - 1 {
			if k == 0 {
				return int32(32*i + bits.TrailingZeros32(word))
			}
			k--
		}
	}
	panic("unreachable")
}

func (m *imagined) answer(b *gpu.StepBatch) (*gpu.StepResult, error) {
	if b.Reset {
		clear(m.rows)
	}
	for _, row := range b.Closed {
		delete(m.rows, row)
	}
	for i := range b.Opened {
		o := &b.Opened[i]
		m.rows[o.Row] = slices.Concat(o.Prompt, o.Output)
	}
	r := &gpu.StepResult{Rows: make([]gpu.RowResult, len(b.Work))}
	for i := range b.Work {
		w := &b.Work[i]
		row := append(m.rows[w.Row], w.Forced...)
		if m.runs += len(w.Forced); w.Start+w.Count != len(row) || w.Sample != 1 {
			m.t.Errorf("work %+v of a row with %d tokens", w, len(row))
		}
		m.masks++
		if _, _, made := w.Mask.Bits(); !made && m.masks%4 >= m.patience {
			r.Rows[i].Late = true
		} else if mask, err := ready(m.t.(*testing.T), w.Mask); err != nil {
			r.Rows[i].Err = err
		} else {
			r.Rows[i].Tokens = []int32{choose(row, mask)}
			row = append(row, r.Rows[i].Tokens...)
		}
		m.rows[w.Row] = row
	}
	return r, nil
}

// oneByOne is the obvious twin: for each token a new matcher follows the whole output.
func oneByOne(t testing.TB, grammars *store.Store, r *messages.EngineRequest) []int32 {
	t.Helper()
	g, err := grammars.Get(context.Background(), grammar.Source{Kind: grammar.Kind(r.Params.Grammar.Kind), Text: r.Params.Grammar.Text})
	if err != nil {
		t.Fatal(err)
	}
	v, p := grammars.Vocabulary(), r.Params
	mask := make([]uint32, v.Words())
	for row := slices.Clone(r.Prompt); ; {
		output := row[len(r.Prompt):]
		if n := len(output); n > 0 && p.EndOf(output[n-1], n) != 0 {
			return output
		}
		m := g.Matcher()
		if err := m.Replay(output); err != nil {
			t.Fatal(err)
		}
		if err := m.Mask(mask); err != nil {
			t.Fatal(err)
		}
		var ends []int32
		if len(output) < p.MinTokens {
			ends = slices.Concat(p.EOSTokenIDs, p.StopTokenIDs)
		} else if p.IgnoreEOS {
			ends = p.EOSTokenIDs
		}
		most := slices.Clone(mask)
		for _, id := range ends {
			most[id/32] &^= 1 << (id % 32)
		}
		raw := slices.Clone(mask)
		if slices.Max(most) > 0 {
			mask = most
		}
		if l := p.Grammar.Thoughts; l != nil {
			f := thoughts.New(thoughts.Limit(*l), v)
			for _, token := range output {
				f.Accept(token)
			}
			if end, ended := f.Forced(); ended && tokens.Allowed(raw, end) {
				row = append(row, end)
				continue
			}
		}
		text, err := m.Forced(64)
		if err != nil {
			t.Fatal(err)
		}
		if first := v.First(row[len(row)-1], text); first != tokens.None && tokens.Allowed(mask, first) {
			clear(mask)
			tokens.Allow(mask, first)
		}
		row = append(row, choose(row, mask))
	}
}

// Outputs are those of the twin, however many tokens a step may add, whatever masks are late, and
// however often the row is closed and opened again.
func TestRunsChangeNoOutput(t *testing.T) {
	grammars := bundledGrammars(t)
	v := grammars.Vocabulary()
	used := grammars
	runs, steps, late := 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		if rapid.Bool().Draw(rt, "fresh") {
			used = store.New(v, store.Options{}) // nothing is known
		}
		id := func(name string) int32 { return rapid.Int32Range(0, int32(v.Size())-1).Draw(rt, name) }
		r := &messages.EngineRequest{ID: 9, Prompt: []int32{id("prompt"), id("prompt")}, Params: params(func(p *messages.SamplingParams) {
			g := rapid.SampledFrom(runGrammars).Draw(rt, "grammar")
			if g.Text == thinkingText && rapid.Bool().Draw(rt, "thoughts") {
				g.Thoughts = &messages.Thoughts{Tokens: rapid.IntRange(0, 6).Draw(rt, "budget"), Open: "<t>", Mark: "</t>", End: lettersOf(v, "</t>")}
			}
			p.Grammar, p.EOSTokenIDs = &g, v.End()
			p.MaxTokens = rapid.IntRange(1, 60).Draw(rt, "max_tokens")
			p.MinTokens = min(p.MaxTokens, rapid.SampledFrom([]int{0, 0, 3, 30}).Draw(rt, "min_tokens"))
			p.IgnoreEOS = rapid.Bool().Draw(rt, "ignore_eos")
		})}
		want := oneByOne(t, grammars, r)
		if rapid.Bool().Draw(rt, "stops") { // at one of its tokens
			r.Params.StopTokenIDs = []int32{rapid.SampledFrom(want).Draw(rt, "stop"), id("stop")}
			want = oneByOne(t, grammars, r)
		}
		scores := rapid.IntRange(0, 5).Draw(rt, "logprobs") == 0
		if scores {
			r.Params.TopLogprobs = 0
		}
		m := &imagined{t: t, rows: map[gpu.Row][]int32{}, patience: rapid.IntRange(0, 3).Draw(rt, "patience")}
		stepTokens := rapid.SampledFrom([]int{0, 64, 67}).Draw(rt, "step tokens")
		e := exec.New(&recorder{answer: m.answer}, exec.Options{Vocab: v.Size(), Grammars: used, StepTokens: stepTokens})
		masks := make(chan messages.RequestID, 1)
		d := &driver{t: t, e: e}
		e.Reset(func(id messages.RequestID) { masks <- id })
		got, open, computed := []int32(nil), false, 0
		for len(got) == 0 || r.Params.EndOf(got[len(got)-1], len(got)) == 0 {
			b := &messages.RunBatch{}
			if open && rapid.IntRange(0, 7).Draw(rt, "retract") == 0 {
				b.Closed, open = []messages.Row{0}, false
			}
			if !open {
				open, computed = true, 0
				b.Opened = []messages.RowOpened{{Request: r, Output: slices.Clone(got)}}
			}
			work := messages.RowWork{Start: computed, Count: 2 + len(got) - computed, Sample: rapid.IntRange(1, exec.RunTokens+4).Draw(rt, "sample")}
			b.Work = []messages.RowWork{work}
			done := d.must(b)
			if len(done.Failed) > 0 {
				rt.Fatalf("failed: %+v", done.Failed)
			}
			if n := len(done.Sampled); n > work.Sample || done.Forced != max(0, n-1) || scores && n > 1 || stepTokens > 0 && n > 1 && work.Count+n-1 > stepTokens {
				rt.Fatalf("%d tokens, %d of them certain, of work %+v", n, done.Forced, work)
			}
			computed += work.Count - 1 + len(done.Sampled)
			for i, s := range done.Sampled {
				if got = append(got, s.Token); r.Params.EndOf(s.Token, len(got)) != 0 && i+1 < len(done.Sampled) {
					rt.Fatalf("tokens follow the end of %v", got)
				}
			}
			if len(done.Late) > 0 {
				<-masks
				late++
			}
			steps++
		}
		if !slices.Equal(got, want) {
			rt.Fatalf("%+v\ngot  %s\nwant %s", r.Params, spelt(v, got), spelt(v, want))
		}
		runs += m.runs
	})
	if t.Logf("%d tokens in runs, %d steps, %d of them late", runs, steps, late); runs == 0 {
		t.Error("no token was certain")
	}
}

func spelt(v *tokens.Vocabulary, ids []int32) (list []string) {
	for _, id := range ids {
		list = append(list, fmt.Sprintf("%d %q", id, v.Bytes(id)))
	}
	return list
}

// The embedded model draws the same tokens, whether those that are certain are drawn as well or
// computed in runs, on each device.
func TestRunsOnDevices(t *testing.T) {
	c, err := model.Directory(bundled.FS()).Open(model.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	grammars := bundledGrammars(t)
	for name, device := range devices(t) {
		if name == "ref" && racedetector.Enabled {
			continue // it has no goroutines of its own, and is slow
		}
		for i := range runGrammars {
			r := &messages.EngineRequest{ID: 9, Prompt: []int32{5, 9, 40, 7}, Params: params(func(p *messages.SamplingParams) {
				p.Grammar, p.EOSTokenIDs, p.MaxTokens = &runGrammars[i], c.Config.EOS, 30
				p.Temperature, p.Seed, p.FrequencyPenalty, p.RepetitionPenalty = 0.9, 3, 0.4, 1.2
			})}
			want, _ := newDriver(t, device, c, gpu.BF16, 16).constrained(grammars, r, 1)
			got, forced := newDriver(t, device, c, gpu.BF16, 16).constrained(grammars, r, exec.RunTokens)
			if !slices.Equal(got, want) {
				t.Errorf("%s, %s: in runs %v, one by one %v", name, runGrammars[i].Text, got, want)
			}
			if forced == 0 {
				t.Errorf("%s, %s: no token was certain", name, runGrammars[i].Text)
			}
		}
	}
}

// constrained runs a request with a grammar. A step adds up to most tokens.
func (d *driver) constrained(grammars *store.Store, r *messages.EngineRequest, most int) (output []int32, forced int) {
	d.t.Helper()
	d.e = exec.New(d.m, exec.Options{Vocab: grammars.Vocabulary().Size(), StepTokens: d.pool.StepTokens, Grammars: grammars})
	masks := make(chan messages.RequestID, 1)
	d.e.Reset(func(id messages.RequestID) { masks <- id })
	b := &messages.RunBatch{Opened: []messages.RowOpened{{Request: r}}, Grown: []messages.RowGrown{{Pages: d.reserve(0, len(r.Prompt)+r.Params.MaxTokens)}}}
	for computed := 0; len(output) == 0 || r.Params.EndOf(output[len(output)-1], len(output)) == 0; b = new(messages.RunBatch) {
		count := len(r.Prompt) + len(output) - computed
		b.Work = []messages.RowWork{{Start: computed, Count: count, Sample: min(most, r.Params.MaxTokens-len(output))}}
		done := d.must(b)
		if len(done.Failed) > 0 {
			d.t.Fatalf("failed: %+v", done.Failed)
		}
		computed, forced = computed+count-1+len(done.Sampled), forced+done.Forced
		for _, s := range done.Sampled {
			output = append(output, s.Token)
		}
		if len(done.Late) > 0 {
			<-masks
		}
	}
	return output, forced
}

// A run stops before a token that no mask can be made for, so a client has what came before.
func TestRunsEndBeforeErrors(t *testing.T) {
	grammars := letters(t)
	for range 20 {
		m := &imagined{t: t, rows: map[gpu.Row][]int32{}, patience: 4}
		d := &driver{t: t, e: exec.New(&recorder{answer: m.answer}, exec.Options{Vocab: vocab, Grammars: grammars})}
		var output []int32
		for b := (&messages.RunBatch{Opened: []messages.RowOpened{{Request: constrained("[ab]babac", nil)}}}); ; b = new(messages.RunBatch) {
			b.Work = []messages.RowWork{{Start: len(output), Count: 1, Sample: exec.RunTokens}}
			done := d.must(b)
			for _, s := range done.Sampled {
				output = append(output, s.Token)
			}
			if len(done.Failed) == 0 {
				continue
			}
			if !slices.Equal(output[1:], []int32{1, 0, 1, 0}) || done.Failed[0].End != messages.EndGrammar {
				t.Fatalf("the output is %v, and then %+v", output, done)
			}
			break
		}
	}
}
