package messages

import (
	"slices"
	"testing"
)

// What ends an output depends on the token, its number and the parameters. With a grammar an end
// token ends it whatever min_tokens and ignore_eos say: it was sampled because nothing else may
// follow, or the text may end.
func TestEndOf(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*SamplingParams)
		token  int32
		n      int
		want   EndReason
	}{
		"any token":                       {nil, 5, 3, 0},
		"the limit":                       {nil, 5, 10, EndLength},
		"an end token":                    {nil, 1, 3, EndEOS},
		"a stop token":                    {nil, 7, 3, EndStopToken},
		"an end token within min_tokens":  {func(p *SamplingParams) { p.MinTokens = 3 }, 1, 3, 0},
		"an end token after min_tokens":   {func(p *SamplingParams) { p.MinTokens = 2 }, 1, 3, EndEOS},
		"an end token that is ignored":    {func(p *SamplingParams) { p.IgnoreEOS = true }, 1, 3, 0},
		"a stop token with ignore_eos":    {func(p *SamplingParams) { p.IgnoreEOS = true }, 7, 3, EndStopToken},
		"a grammar's end":                 {func(p *SamplingParams) { p.Grammar = &Grammar{} }, 1, 3, EndEOS},
		"a grammar's end within min":      {func(p *SamplingParams) { p.Grammar, p.MinTokens = &Grammar{}, 9 }, 1, 3, EndEOS},
		"a grammar's end with ignore_eos": {func(p *SamplingParams) { p.Grammar, p.IgnoreEOS = &Grammar{}, true }, 1, 3, EndEOS},
		"a grammar's stop token within":   {func(p *SamplingParams) { p.Grammar, p.MinTokens = &Grammar{}, 9 }, 7, 3, 0},
	} {
		p := &SamplingParams{MaxTokens: 10, EOSTokenIDs: []int32{1, 2}, StopTokenIDs: []int32{7}}
		if c.change != nil {
			c.change(p)
		}
		if got := p.EndOf(c.token, c.n); got != c.want {
			t.Errorf("%s: ends by %v, want %v", name, got, c.want)
		}
	}
	p := &SamplingParams{EOSTokenIDs: []int32{1, 2}, StopTokenIDs: []int32{7}}
	for _, c := range []struct {
		least  int
		ignore bool
		want   []int32
	}{{0, false, nil}, {3, false, []int32{1, 2, 7}}, {3, true, []int32{7}}} {
		if p.MinTokens, p.IgnoreEOS = c.least, c.ignore; !slices.Equal(p.MaskedEnds(), c.want) {
			t.Errorf("min_tokens %d, ignore_eos %t: %v are masked, want %v", c.least, c.ignore, p.MaskedEnds(), c.want)
		}
	}
}
