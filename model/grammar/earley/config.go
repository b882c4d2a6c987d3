package earley

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/troupe-engine/troupe/model/grammar/regex"
)

// step computes the configuration after b, nil if there is none.
func (a *Automaton) step(c *Config, b byte) (*Config, error) {
	var kernel []item
	var threads []thread
	lazy, isLazy := a.lazyRows(c, b)
	for _, t := range c.threads {
		d := a.set.Derivative(t.term, b)
		if d == regex.Nothing {
			continue
		}
		if isLazy && slices.Contains(lazy, t.row) {
			if a.g.Terminals[t.terminal].Lazy && a.set.Nullable(d) {
				kernel = a.advance(kernel, t.row, t.terminal)
			}
			continue
		}
		if a.set.Nullable(d) {
			kernel = a.advance(kernel, t.row, t.terminal)
		}
		ended, err := a.set.AtMostEmpty(d)
		if err != nil {
			return nil, a.regexError(err)
		}
		if !ended {
			threads = append(threads, thread{t.row, t.terminal, d})
		}
	}
	if err := a.set.Err(); err != nil {
		return nil, a.regexError(err)
	}
	if len(kernel) > a.limits.Items {
		return nil, ErrTooWide
	}
	row := none
	if len(kernel) > 0 {
		var err error
		if row, err = a.rowOf(kernel); err != nil {
			return nil, err
		}
	} else if len(threads) == 0 {
		return nil, nil
	}
	return a.config(row, threads)
}

// lazyRows returns the rows of c in which a lazy terminal ends with b. any:
// there is one.
func (a *Automaton) lazyRows(c *Config, b byte) (rows []int32, any bool) {
	for _, t := range c.threads {
		if a.g.Terminals[t.terminal].Lazy && a.set.Nullable(a.set.Derivative(t.term, b)) {
			rows = append(rows, t.row)
		}
	}
	return rows, len(rows) > 0
}

// regexError: a full set is a full automaton. Otherwise one question was too
// hard.
func (a *Automaton) regexError(err error) error {
	if a.set.Err() != nil {
		return ErrFull
	}
	return err
}

// config returns the configuration of a row that begins here and terminals in
// progress. It takes over threads.
func (a *Automaton) config(fresh int32, threads []thread) (*Config, error) {
	if fresh != none {
		for _, g := range a.rows[fresh].scan {
			if t := a.g.Terminals[^g.symbol]; t.Token < 0 {
				threads = append(threads, thread{fresh, int32(^g.symbol), t.Term})
			}
		}
	}
	threads = a.merge(threads)
	if len(threads) > a.limits.Threads {
		return nil, ErrTooWide
	}
	x := &a.scratch
	x.key = appendInts(x.key[:0], fresh)
	for _, t := range threads {
		x.key = appendInts(x.key, t.row, t.terminal, int32(t.term))
	}
	if c, ok := a.configs[string(x.key)]; ok {
		return c, nil
	}
	if a.bytes+a.set.Bytes() > a.limits.Bytes {
		return nil, ErrFull
	}
	c := &Config{fresh: fresh, threads: slices.Clip(threads)}
	if fresh != none {
		c.accept = a.rows[fresh].accept
		for _, g := range a.rows[fresh].scan {
			if t := a.g.Terminals[^g.symbol]; t.Token >= 0 {
				c.tokens = append(c.tokens, tokenEdge{token: t.Token, terminal: int32(^g.symbol)})
			}
		}
	}
	terms := make([]regex.Term, len(threads))
	for i, t := range threads {
		terms[i] = t.term
	}
	c.class, c.reps = a.set.CommonClasses(terms)
	c.next = make([]atomic.Pointer[Config], len(c.reps))
	a.configs[string(x.key)] = c
	a.bytes += 2*len(x.key) + 8*len(c.next) + 16*len(c.tokens) + 240
	return c, nil
}

// merge sorts threads and joins those of one terminal that began in one row:
// what is left of any of them ends it.
func (a *Automaton) merge(threads []thread) []thread {
	slices.SortFunc(threads, func(a, b thread) int {
		return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.terminal, b.terminal), cmp.Compare(a.term, b.term))
	})
	out := threads[:0]
	for _, t := range threads {
		if n := len(out); n > 0 && out[n-1].row == t.row && out[n-1].terminal == t.terminal {
			out[n-1].term = a.set.Or(out[n-1].term, t.term)
			continue
		}
		out = append(out, t)
	}
	return out
}
