package outputs_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/model/chat/output"
	"github.com/troupe-engine/troupe/model/grammar/outputs"
)

// fragments are the marks of a format, cut anywhere, and what a call is made of.
func fragments(f output.Format, random *rand.Rand) []string {
	list := []string{`"name": "`, `"name":"get_weather"`, `get_weather`, `find-2`, `{"name"`, `[{"name`, `[add(`, `a=1`, `\`, `\"`, `\/`, `\n`, `\u0041`, `'`, `"""`,
		`functions.`, `functions.add:0`, `{"city": "x"}`, `"city"`, `<`, `>`, `None`, `null`, `true`, `[1]`, `(1)`, `{}`, " \n", "\n\n\n", "```", `"function": "add"`, "all\n", `to=`, "<think>", "</think>"}
	whole := []string{f.Reasoning.Open, f.Reasoning.Close, output.Quote}
	if c := f.Calls; c != nil {
		whole = append(whole, c.Begin, c.End, c.Separator, c.Call.Open, c.Call.Close)
		for _, h := range c.Call.Headers {
			for _, p := range output.Pieces(h) {
				whole = append(whole, p.Literal)
			}
		}
		if p := c.Call.Params; p != nil {
			whole = append(whole, p.Open, p.Close, "\n"+p.Close, p.End)
			for _, h := range p.Headers {
				for _, p := range output.Pieces(h) {
					whole = append(whole, p.Literal)
				}
			}
		}
	}
	if m := f.Messages; m != nil {
		whole = append(append(whole, m.Ends...), m.Start, m.Channel, m.Body, m.Recipient)
	}
	for _, mark := range append(whole, f.Drop...) {
		if mark == "" {
			continue
		}
		at := random.IntN(len(mark))
		for _, text := range []string{mark, mark[:at], mark[at:], mark[:len(mark)-1], mark[1:]} {
			if text != "" {
				list = append(list, text)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// TestHostileTextsAreRead draws outputs from a vocabulary of pieces of marks and calls, so that
// free text and values often look like something else.
func TestHostileTextsAreRead(t *testing.T) {
	total, odd := 0, 0
	eachSpec(func(name string, s outputs.Spec, special bool) {
		random := rand.New(rand.NewPCG(uint64(len(name)), 11))
		v := newVocabularyWith(t, s.Format, special, fragments(s.Format, random), nil)
		g, r := compile(t, v, s), newReader(t, s)
		eachSample(t, name, g, r, random, func(text string, m output.Message) {
			plain := m.Reasoning == "" && len(m.Calls) == 0 && s.Format.Messages == nil && len(s.Format.Drop) == 0 && !strings.Contains(text, ">>>all")
			if plain && !s.Required && s.Content == nil && m.Content != text && !strings.Contains(text, s.Format.Reasoning.Close) {
				t.Errorf("%s: %q is read as content %q", name, text, m.Content)
			}
			if total++; strings.Contains(m.Content+m.Reasoning, "name") {
				odd++
			}
		})
	})
	t.Logf("%d samples, %d of them with a piece of a call in free text", total, odd)
}
