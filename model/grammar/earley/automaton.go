package earley

import (
	"errors"
	"math"
	"sync"
	"sync/atomic"

	"github.com/troupe-engine/troupe/model/grammar/cfg"
	"github.com/troupe-engine/troupe/model/grammar/regex"
)

// Limits bound an automaton. They are hard; zero is the default.
type Limits struct {
	// Bytes bounds rows, configurations and derivatives together. Zero: 64 MiB.
	Bytes int
	// Items bounds one row. Zero: 100,000.
	Items int
	// Threads bounds the terminals in progress of one configuration. Zero: 20,000.
	Threads int
}

func (l Limits) withDefaults() Limits {
	if l.Bytes == 0 {
		l.Bytes = 64 << 20
	}
	if l.Items == 0 {
		l.Items = 100_000
	}
	if l.Threads == 0 {
		l.Threads = 20_000
	}
	return l
}

var (
	// ErrFull: the automaton may not grow any more.
	ErrFull = errors.New("the tables of the grammar are full")
	// ErrTooWide: one row or configuration is beyond its bound, because the
	// grammar is very ambiguous here or has very many alternatives.
	ErrTooWide = errors.New("following this text through the grammar needs more memory than it may have")
)

// What stands in the list of dots where no symbol does.
const (
	end    = cfg.Symbol(math.MaxInt32 - iota) // behind the last symbol of a rule
	behind                                    // behind the last symbol of an entry of a bag
	before                                    // before a separator, where the bag may also end
	choose                                    // before any of the entries
)

// Automaton is a grammar and its table.
type Automaton struct {
	limits Limits
	g      *cfg.Grammar
	set    *regex.Set

	// The rules one behind the other, each followed by end. A dot is an index.
	next    []cfg.Symbol
	isStart []bool    // dot stands before the first symbol
	starts  [][]int32 // dots of the rules of each nonterminal
	origin  int32     // the dot before the start symbol
	bags    []*bag    // by nonterminal; nil for one with rules

	mu      sync.Mutex
	held    atomic.Int64 // bytes, as of the last unlock
	bytes   int
	rows    []*row
	kernels map[string]int32
	cores   map[string]int32
	configs map[string]*Config
	states  []bagState
	stateOf map[bagKey]int32
	start   *Config
	scratch scratch
	lengths *lengths // nil until an ending is asked for
	notes   map[regex.Term]int
}

// New returns an automaton for g, whose set it owns from now on.
func New(g *cfg.Grammar, limits Limits) (*Automaton, error) {
	a := &Automaton{limits: limits.withDefaults(), g: g, set: g.Set,
		kernels: map[string]int32{}, cores: map[string]int32{}, configs: map[string]*Config{}, stateOf: map[bagKey]int32{}, notes: map[regex.Term]int{}}
	a.starts = make([][]int32, len(g.Names))
	for _, r := range g.Rules {
		dot := int32(len(a.next))
		a.starts[r.LHS] = append(a.starts[r.LHS], dot)
		a.next = append(append(a.next, r.RHS...), end)
	}
	a.bags = make([]*bag, len(g.Names))
	for n := range a.bags {
		if rules := g.Bags[cfg.Symbol(n)]; rules != nil {
			a.bags[n] = a.newBag(cfg.Symbol(n), rules)
		}
	}
	a.origin = int32(len(a.next))
	a.next = append(a.next, g.Start, end)
	a.isStart = make([]bool, len(a.next))
	for _, dots := range a.starts {
		for _, dot := range dots {
			a.isStart[dot] = true
		}
	}
	for _, b := range a.bags {
		if b == nil {
			continue
		}
		for _, dot := range b.entries {
			a.isStart[dot] = true
		}
	}
	a.scratch.init()
	first, err := a.rowOf([]item{{dot: a.origin, nt: int32(g.Start), row: accepted}})
	if err != nil {
		return nil, err
	}
	a.start, err = a.config(first, nil)
	a.held.Store(int64(a.bytes + a.set.Bytes()))
	return a, err
}

// Start returns the configuration before the first byte.
func (a *Automaton) Start() *Config { return a.start }

// Grammar returns what the automaton recognises.
func (a *Automaton) Grammar() *cfg.Grammar { return a.g }

// Bytes returns roughly how much memory the automaton holds.
// It waits for nothing, so it may be a little old.
func (a *Automaton) Bytes() int { return int(a.held.Load()) }

// unlock ends what may have changed the tables.
func (a *Automaton) unlock() {
	a.held.Store(int64(a.bytes + a.set.Bytes()))
	a.mu.Unlock()
}

// Size returns the number of rows, configurations and terms, for people.
func (a *Automaton) Size() (rows, configs, terms int) {
	a.mu.Lock()
	defer a.unlock()
	return len(a.rows), len(a.configs), a.set.Len()
}

// Config is what is known after some bytes. It belongs to its automaton and
// does not change, apart from the transitions that become known.
type Config struct {
	fresh   int32 // row that begins here, or none
	accept  bool
	threads []thread
	class   *[256]uint8
	reps    []byte
	next    []atomic.Pointer[Config] // by class; nil: not computed
	only    atomic.Int32             // what Only returns, see there
	tokens  []tokenEdge

	// Data is for whoever uses the automaton, to keep what it derives from a
	// configuration. It goes when the configuration goes.
	Data atomic.Pointer[any]
}

// thread is a terminal in progress.
type thread struct {
	row      int32
	terminal int32
	term     regex.Term
}

type tokenEdge struct {
	token, terminal int32
	next            *Config
}

// dead is the transition to nowhere.
var dead = &Config{fresh: none}

// CanEnd reports whether the text may end here.
func (c *Config) CanEnd() bool { return c.accept }

// MustEnd reports whether nothing may follow.
func (c *Config) MustEnd() bool { return len(c.threads) == 0 && len(c.tokens) == 0 }

// Known returns the configuration after b if it has been computed: next is nil
// where b is not allowed. It takes no lock.
func (c *Config) Known(b byte) (next *Config, known bool) {
	n := c.next[c.class[b]].Load()
	if n == dead {
		return nil, true
	}
	return n, n != nil
}

// Next returns the configuration after b, nil where b is not allowed. The error
// is [ErrFull] or [ErrTooWide], or one of package regex.
func (a *Automaton) Next(c *Config, b byte) (*Config, error) {
	if n, ok := c.Known(b); ok {
		return n, nil
	}
	a.mu.Lock()
	defer a.unlock()
	class := c.class[b]
	n := c.next[class].Load()
	if n == nil {
		var err error
		if n, err = a.step(c, c.reps[class]); err != nil {
			return nil, err
		}
		if n == nil {
			n = dead
		}
		c.next[class].Store(n)
	}
	if n == dead {
		return nil, nil
	}
	return n, nil
}

// Classes returns one byte of each class of bytes that c does not tell apart.
// The slice belongs to the automaton.
func (c *Config) Classes() []byte { return c.reps }

// ClassOf maps bytes to indices into Classes.
func (c *Config) ClassOf() *[256]uint8 { return c.class }

// Tokens calls each with the special tokens that are allowed here.
func (c *Config) Tokens(each func(token int32)) {
	for i := range c.tokens {
		each(c.tokens[i].token)
	}
}

// NextToken returns the configuration after a special token, nil where it is
// not allowed.
func (a *Automaton) NextToken(c *Config, token int32) (*Config, error) {
	for i := range c.tokens {
		e := &c.tokens[i]
		if e.token != token {
			continue
		}
		a.mu.Lock()
		defer a.unlock()
		if e.next == nil {
			kernel := a.advance(nil, c.fresh, e.terminal)
			row, err := a.rowOf(kernel)
			if err != nil {
				return nil, err
			}
			if e.next, err = a.config(row, nil); err != nil {
				return nil, err
			}
		}
		return e.next, nil
	}
	return nil, nil
}

// HasTokens reports whether a special token is allowed here.
func (c *Config) HasTokens() bool { return len(c.tokens) > 0 }
