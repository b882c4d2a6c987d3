package replay

import (
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/lab/costmodel"
	"github.com/troupe-engine/troupe/lab/trace"
)

// list is a trace in memory.
type list struct {
	requests []trace.Request
	next     int
}

func (l *list) Next() (*trace.Request, error) {
	if l.next == len(l.requests) {
		return nil, io.EOF
	}
	l.next++
	r := l.requests[l.next-1]
	return &r, nil
}

func (l *list) Progress() (int64, int64) { return int64(l.next), int64(len(l.requests)) }
func (l *list) Close() error             { return nil }

// conversations are a made-up trace of turns. Each prompt repeats the blocks
// of the turn before and adds some. One turn comes per interval, from a random
// conversation.
func conversations(seed uint64, count, turns int, every time.Duration) *list {
	const blockSize = 128
	rnd := rand.New(rand.NewPCG(seed, 1))
	type conversation struct {
		blocks []uint64
		turns  int
	}
	var open []*conversation
	for range count {
		open = append(open, &conversation{blocks: []uint64{1, 2}, turns: turns}) // all have a system prompt
	}
	next, l := uint64(2), &list{}
	for len(open) > 0 {
		i := rnd.IntN(len(open))
		c := open[i]
		for range 1 + rnd.IntN(8) {
			next++
			c.blocks = append(c.blocks, next)
		}
		n := len(l.requests)
		l.requests = append(l.requests, trace.Request{
			Line: n + 1, Arrival: time.Duration(n) * every,
			Input: len(c.blocks)*blockSize - rnd.IntN(blockSize), Output: rnd.IntN(60),
			Blocks: append([]uint64(nil), c.blocks...), BlockSize: blockSize,
		})
		if c.turns--; c.turns == 0 {
			open = append(open[:i], open[i+1:]...)
		}
	}
	return l
}

// small are options that a test trace keeps busy: a 1B model on an L4.
func small(t testing.TB) Options {
	t.Helper()
	g, err := costmodel.Lookup("l4")
	if err != nil {
		t.Fatal(err)
	}
	m, err := costmodel.LookupModel("llama-3.2-1b")
	if err != nil {
		t.Fatal(err)
	}
	opt := Defaults()
	opt.GPU, opt.Model = g, m
	return opt
}

func run(t testing.TB, from trace.Reader, opt Options) *Report {
	t.Helper()
	r, err := Run(t.Context(), from, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
