package exec

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/model/grammar"
	"github.com/troupe-engine/troupe/model/grammar/store"
)

// constraints make the masks of rows whose requests have a grammar, beside the device.
type constraints struct {
	store *store.Store
	// As many masks are made at a time: on half of the cores, because the device needs some.
	// One that takes long queues again and again, so that short ones do not wait for it.
	turns chan struct{}
}

// constraint is the grammar of one open row. A job owns it from the sampled token to the
// next mask; between them the executor does.
type constraint struct {
	request *messages.EngineRequest
	matcher *grammar.Matcher
	outputs int         // tokens of the output so far
	closed  atomic.Bool // the row is closed: no mask is needed
	bits    []uint32    // memory of the mask
	mask    mask
}

// maskError is why a mask cannot be made, as a client may see it: without anything of the grammar.
type maskError struct {
	end  messages.EndReason
	text string
}

// Error implements error.
func (e *maskError) Error() string { return e.text }

var errNoGrammars = &maskError{messages.EndInternal, "bug in the server: this engine has no grammars; please report it"}

// open makes the mask of the token after a row's output. ready is called if that mask, or a
// later one, was wanted before it was made.
func (s *constraints) open(r *messages.EngineRequest, output []int32, ready func(messages.RequestID)) *constraint {
	c := &constraint{request: r}
	c.mask.ready = func() { ready(r.ID) }
	if s.store == nil {
		c.mask.set(nil, errNoGrammars)
		return c
	}
	src := grammar.Source{Kind: grammar.Kind(r.Params.Grammar.Kind), Text: r.Params.Grammar.Text}
	if len(src.Text) <= hashed {
		if g, err, kept := s.store.Kept(src); kept && err == nil && s.begin(c, g).quick(output) {
			c.mask.set(c.bits, nil)
			return c
		}
	}
	go func() {
		g, err := s.store.Resume(context.Background(), src) // without a turn: it may wait for a compilation
		s.do(c, func() error {
			if err != nil {
				return err
			}
			return s.begin(c, g).advance(output)
		})
	}()
	return c
}

// hashed is how long a grammar may be, in bytes, to be looked up at once: its hash takes as many
// nanoseconds.
const hashed = 16 << 10

// begin gives a row a matcher before its first output.
func (s *constraints) begin(c *constraint, g *grammar.Grammar) *constraint {
	c.matcher, c.bits = g.Matcher(), make([]uint32, s.store.Vocabulary().Words())
	c.matcher.Pause = s.pause
	return c
}

// sampled makes the mask of the token after those that the device has sampled. The mask that
// they were drawn under is made, so no job of the row runs.
func (s *constraints) sampled(c *constraint, tokens []int32) {
	n := c.outputs
	for _, token := range tokens {
		if n++; c.request.Params.EndOf(token, n) != 0 {
			return // no token comes after it
		}
	}
	c.mask.reset()
	if c.quick(tokens) {
		c.mask.set(c.bits, nil)
		return
	}
	tokens = slices.Clone(tokens) // the device's
	go s.do(c, func() error { return c.advance(tokens) })
}

// do makes a mask when it is its turn.
func (s *constraints) do(c *constraint, job func() error) {
	s.turns <- struct{}{}
	var err error = &maskError{messages.EndInternal, "bug in the server: following the grammar panicked; please report it with the grammar"}
	defer func() {
		if recover() != nil {
			debug.PrintStack()
		}
		<-s.turns
		c.mask.set(c.bits, err)
	}()
	if !c.closed.Load() {
		err = refusal(job())
	}
}

// pause lets others have their turn.
func (s *constraints) pause() {
	<-s.turns
	s.turns <- struct{}{}
}

// refusal is an error as a client may see it.
func refusal(err error) error {
	if err == nil {
		return nil
	}
	if e, is := errors.AsType[*grammar.Error](err); is {
		switch e.Kind {
		case grammar.NoToken:
			return &maskError{messages.EndGrammar, "no token of the model's vocabulary can continue the text as the grammar demands; let the grammar allow other text there"}
		case grammar.TooLarge:
			return &maskError{messages.EndGrammar, "the grammar became too large while its text was followed; give it fewer alternatives or smaller counts, or make it less ambiguous"}
		}
	}
	return &maskError{messages.EndInternal, "bug in the server: the grammar cannot be followed; please report it with the grammar"}
}

// advance follows tokens and makes the mask of the next one.
func (c *constraint) advance(tokens []int32) error {
	if err := c.matcher.Replay(tokens); err != nil {
		return err
	}
	c.outputs += len(tokens)
	if err := c.matcher.Mask(c.bits); err != nil {
		return err
	}
	c.withoutEnds()
	return nil
}

// quick is advance where the grammar knows everything, as after other requests with it.
func (c *constraint) quick(tokens []int32) bool {
	if !c.matcher.Quick(tokens, c.bits) {
		return false
	}
	c.outputs += len(tokens)
	c.withoutEnds()
	return true
}

// withoutEnds excludes the tokens that would end the output too early, if others are left:
// where the grammar says that the text ends, it ends.
func (c *constraint) withoutEnds() {
	p := c.request.Params
	var ends []int32
	switch {
	case c.outputs < p.MinTokens:
		ends = append(append(ends, p.EOSTokenIDs...), p.StopTokenIDs...)
	case p.IgnoreEOS:
		ends = p.EOSTokenIDs
	}
	var removed []int32
	for _, id := range ends {
		if word := int(id) / 32; id >= 0 && word < len(c.bits) && c.bits[word]>>(id%32)&1 == 1 {
			c.bits[word] &^= 1 << (id % 32)
			removed = append(removed, id)
		}
	}
	for _, word := range c.bits {
		if word != 0 {
			return
		}
	}
	for _, id := range removed {
		c.bits[id/32] |= 1 << (id % 32)
	}
}
