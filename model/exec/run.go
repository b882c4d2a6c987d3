package exec

import (
	"math/bits"
	"slices"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/model/grammar"
	"github.com/troupe-engine/troupe/model/grammar/vocab"
)

// RunTokens is how many tokens a step may add to a row with a grammar: those of a run, and the
// one that is drawn after them.
const RunTokens = 16

// ahead follows tokens, then the tokens that are certain, and makes the mask of the token after
// them. A run ends before a token that is drawn; with the token that ends the output; or when it
// has RunTokens, since the last one can be drawn. known: it does so only if the grammar knows
// everything, as after other requests with it; otherwise the error is [grammar.ErrUnknown] and
// the constraint stays as it was.
func (c *constraint) ahead(tokens []int32, known bool) error {
	at, thinking, outputs, last := *c.matcher, c.thinking, c.outputs+len(tokens), c.last
	if at.Known = known; len(tokens) > 0 {
		last = tokens[len(tokens)-1]
	}
	if err := at.Replay(tokens); err != nil {
		return err
	}
	thinking.accept(tokens)
	run, after := c.run[:0], false
	var failed error
	for len(run) < RunTokens {
		token, err := c.certain(&at, &thinking, last, outputs)
		if err != nil && (known || len(run) == 0) {
			return err
		}
		if failed = refusal(err); err != nil || token == vocab.None {
			after = true
			break
		}
		run, outputs, last = append(run, token), outputs+1, token
		if c.request.Params.EndOf(token, outputs) != 0 {
			break
		}
		if err := at.Replay(run[len(run)-1:]); err != nil {
			return err
		}
		thinking.accept(run[len(run)-1:])
	}
	at.Known = false
	*c.matcher, c.thinking, c.outputs, c.last = at, thinking, outputs, last
	c.run, c.after, c.err = run, after, failed
	return nil
}

// quick is ahead where the grammar knows everything. It offers the mask. After a panic, which
// would be a bug, a job does the work, whose panics end the row only.
func (c *constraint) quick(tokens []int32) (done bool) {
	defer func() {
		if recover() != nil {
			done = false
		}
	}()
	if c.ahead(tokens, true) != nil {
		return false
	}
	c.offer()
	return true
}

// certain returns the next token if it is certain: no other one is allowed, the tokenizer would
// begin the text that must follow with it, or it ends thoughts that have had their tokens.
// Otherwise it is [vocab.None] and the mask of the token is in bits. It depends on the request and
// its output only, so the result is the same whether certain tokens are computed in runs or drawn
// one by one.
func (c *constraint) certain(at *grammar.Matcher, thinking *thinking, last int32, outputs int) (int32, error) {
	end, ended := thinking.end()
	if ended {
		switch err := at.Mask(c.bits); {
		case err != nil:
			return vocab.None, err
		case vocab.Allowed(c.bits, end):
			return end, nil
		}
	}
	token, err := at.Certain(last)
	if err != nil {
		return vocab.None, err
	}
	ends := c.ends(outputs)
	if token != vocab.None && !slices.Contains(ends, token) {
		return token, nil
	}
	if err := at.Mask(c.bits); err != nil {
		return vocab.None, err
	}
	without(c.bits, ends)
	if token != vocab.None && vocab.Allowed(c.bits, token) {
		return token, nil
	}
	if at.AllowsMore(1 + len(ends)) {
		return vocab.None, nil // most times, without a look at every word
	}
	return single(c.bits), nil
}

// ends are the tokens that would end an output too early.
func (c *constraint) ends(outputs int) []int32 {
	switch p := c.request.Params; {
	case outputs < p.MinTokens:
		return slices.Concat(p.EOSTokenIDs, p.StopTokenIDs)
	case p.IgnoreEOS:
		return p.EOSTokenIDs
	}
	return nil
}

// without excludes tokens if others are left: where the grammar says that the text ends, it ends.
func without(bits []uint32, ids []int32) {
	var removed []int32
	for _, id := range ids {
		if word := int(id) / 32; id >= 0 && word < len(bits) && bits[word]>>(id%32)&1 == 1 {
			bits[word] &^= 1 << (id % 32)
			removed = append(removed, id)
		}
	}
	if len(removed) == 0 {
		return
	}
	for _, word := range bits {
		if word != 0 {
			return
		}
	}
	for _, id := range removed {
		bits[id/32] |= 1 << (id % 32)
	}
}

// forced returns tokens of the run for a step, up to most, and the mask of the token after them.
// The row's mask is made.
func (c *constraint) forced(most int) ([]int32, gpu.Mask) {
	n := min(most, len(c.run))
	if n == len(c.run) && (!c.after || c.err != nil) {
		n-- // the last one is drawn
	}
	switch {
	case n <= 0:
		return nil, &c.mask
	case n == len(c.run):
		return c.run, gpu.Allow(c.bits)
	}
	return c.run[:n], gpu.Allow(c.one.bits(c.run[n]))
}

// force gives a row's work the tokens of its run, and returns how many. Of a token whose log
// probabilities are wanted the logits are needed.
func (c *constraint) force(w *gpu.RowWork, most int) int {
	p := c.request.Params
	if _, _, made := c.mask.Bits(); !made || p.TopLogprobs != messages.NoLogprobs {
		return 0
	}
	w.Forced, w.Mask = c.forced(most)
	w.Count += len(w.Forced)
	return len(w.Forced)
}

// oneToken is memory for masks of one token. A mask holds until the next one.
type oneToken struct {
	words  int
	memory []uint32
	token  int32
}

func (o *oneToken) bits(token int32) []uint32 {
	if o.memory == nil {
		o.memory = make([]uint32, o.words)
	}
	o.memory[o.token/32] = 0
	o.memory[token/32], o.token = 1<<(token%32), token
	return o.memory
}

// single returns the only token that a mask allows, or [vocab.None].
func single(words []uint32) int32 {
	found := vocab.None
	for i, word := range words {
		switch {
		case word == 0:
		case found != vocab.None || word&(word-1) != 0:
			return vocab.None
		default:
			found = int32(32*i + bits.TrailingZeros32(word))
		}
	}
	return found
}
