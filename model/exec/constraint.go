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
	"github.com/troupe-engine/troupe/model/grammar/thoughts"
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
	closed  atomic.Bool // the row is closed: no mask is needed
	mask    mask        // of the next token

	// run are the tokens that must come next, see ahead. If after is set, bits are the mask of
	// the token behind them, or err is why there is none.
	run   []int32
	after bool
	bits  []uint32
	err   error
	one   oneToken // the mask of a token of run

	// The matcher is behind run.
	matcher *grammar.Matcher
	outputs int   // tokens of the output that it has followed
	last    int32 // the last of them, or of the prompt
	// thinking is behind run, too.
	thinking thinking
}

// maskError is why a mask cannot be made, as a client may see it: without anything of the grammar.
type maskError struct {
	end  messages.EndReason
	text string
}

// Error implements error.
func (e *maskError) Error() string { return e.text }

var (
	errNoGrammars = &maskError{messages.EndInternal, "bug in the server: this engine has no grammars; please report it"}
	errOther      = &maskError{messages.EndInternal, "bug in the server: the device sampled a token that its mask excludes; please report it"}
)

// open makes the mask of the token after a row's output. ready is called if that mask, or a
// later one, was wanted before it was made.
func (s *constraints) open(r *messages.EngineRequest, output []int32, ready func(messages.RequestID)) *constraint {
	c := &constraint{request: r, last: r.Prompt[len(r.Prompt)-1]}
	c.mask.ready = func() {
		if !c.closed.Load() { // else it is no news of the row that the request may have now
			ready(r.ID)
		}
	}
	if s.store == nil {
		c.fail(errNoGrammars)
		return c
	}
	src := grammar.Source{Kind: grammar.Kind(r.Params.Grammar.Kind), Text: r.Params.Grammar.Text}
	if len(src.Text) <= hashed {
		if g, err, kept := s.store.Kept(src); kept && err == nil && s.begin(c, g).quick(output) {
			return c
		}
	}
	go func() {
		g, err := s.store.Resume(context.Background(), src) // without a turn: it may wait for a compilation
		s.do(c, func() error {
			if err != nil {
				return err
			}
			return s.begin(c, g).ahead(output, false)
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
	c.one.words = len(c.bits)
	if l := c.request.Params.Grammar.Thoughts; l != nil {
		c.thinking = thinking{true, thoughts.New(thoughts.Limit(*l), s.store.Vocabulary())}
	}
	c.matcher.Pause = s.pause
	return c
}

// sampled makes the mask of the token after those that a step has brought. The mask that
// they were drawn under is made, so no job of the row runs. tokens are moved.
func (s *constraints) sampled(c *constraint, tokens []int32) {
	n := c.outputs - len(c.run)
	for _, token := range tokens {
		if n++; c.request.Params.EndOf(token, n) != 0 {
			return // no token comes after it
		}
	}
	c.mask.reset()
	known := min(len(c.run), len(tokens))
	if !slices.Equal(tokens[:known], c.run[:known]) {
		c.fail(errOther)
		return
	}
	c.run, tokens = c.run[known:], tokens[known:]
	if len(tokens) == 0 && (len(c.run) > 0 || c.after) {
		c.offer()
		return
	}
	if c.quick(tokens) {
		return
	}
	go s.do(c, func() error { return c.ahead(tokens, false) })
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
		if err != nil {
			c.fail(err)
		} else {
			c.offer()
		}
	}()
	if !c.closed.Load() {
		err = refusal(job())
	}
}

// fail ends the row when its next token is to be drawn.
func (c *constraint) fail(err error) {
	c.run, c.after, c.err = nil, true, err
	c.offer()
}

// offer gives the mask of the next token.
func (c *constraint) offer() {
	switch {
	case len(c.run) > 0:
		c.mask.set(c.one.bits(c.run[0]), nil)
	case c.err != nil:
		c.mask.set(nil, c.err)
	default:
		c.mask.set(c.bits, nil)
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
