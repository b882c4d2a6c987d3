package intake

import (
	"github.com/troupe-engine/troupe/model/tokenizer"
	"github.com/troupe-engine/troupe/request"
)

// Text makes request's detokenizer from a model's tokenizer.
func Text(t *tokenizer.Tokenizer) request.Detokenizer { return detokenizer{t} }

type detokenizer struct{ t *tokenizer.Tokenizer }

// contextTokens is how many tokens of a prompt a continuation depends on: a character
// has at most four bytes, and a token at least one.
const contextTokens = 8

func (d detokenizer) NewStream(prompt []int32, keepSpecial, continues bool) request.Stream {
	opts := tokenizer.DecodeOptions{SkipSpecial: !keepSpecial}
	if !continues {
		return d.t.NewStream(opts)
	}
	return d.t.NewStreamAfter(prompt[d.tail(prompt):], opts)
}

// tail is where the part of a prompt begins that a continuation depends on: its last
// tokens, with at least one that has text if there is any.
func (d detokenizer) tail(prompt []int32) int {
	start := max(0, len(prompt)-contextTokens)
	for i := len(prompt) - 1; i >= 0; i-- {
		if !d.t.IsSpecial(prompt[i]) {
			return min(start, i)
		}
	}
	return start
}
