package trace

import (
	"container/heap"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"
)

// weka reads the coding-agent traces of callanjfox/kv-cache-tester: files of
// one conversation each, whose times and block ids are their own. They are
// merged: each conversation starts a while after the one before it, drawn from
// Options, and gets a range of block ids of its own. Agents that a
// conversation starts run beside it and share its range. Only conversations
// that are going on are held.
type weka struct {
	members
	path   string
	gap    time.Duration
	random *rand.Rand

	live    threadHeap
	pending []*thread     // the next conversation, opened too early
	start   time.Duration // of the last conversation opened
	opened  int
	base    uint64 // block ids given away
	threads int
	line    int
	ended   bool // no more conversations
}

func openWeka(path string, opts Options) (Reader, error) {
	m, err := openMembers(path)
	if err != nil {
		return nil, err
	}
	if opts.ConversationGap == 0 {
		opts.ConversationGap = DefaultConversationGap
	}
	return &weka{members: m, path: path, gap: opts.ConversationGap, random: rand.New(rand.NewPCG(opts.Seed, 0x77656b61))}, nil
}

func (w *weka) Next() (*Request, error) {
	// A conversation starts no earlier than the one before it. So all that
	// may come next is open once one starts after the earliest open request.
	for !w.ended || w.pending != nil {
		if w.pending == nil {
			if err := w.open(); err != nil {
				return nil, err
			}
			continue
		}
		if len(w.live) > 0 && w.live[0].due() < w.start {
			break
		}
		for _, t := range w.pending {
			heap.Push(&w.live, t)
		}
		w.pending = nil
	}
	if len(w.live) == 0 {
		return nil, io.EOF
	}
	t := w.live[0]
	r := t.pop()
	if t.next < len(t.turns) {
		heap.Fix(&w.live, 0)
	} else {
		heap.Pop(&w.live)
	}
	w.line++
	r.Line = w.line
	return r, nil
}

// open reads the next conversation into pending, or sets ended.
func (w *weka) open() error {
	name, content, err := w.members.next()
	if errors.Is(err, io.EOF) {
		w.ended = true
		if w.opened == 0 {
			return &Error{File: w.path, What: "the archive has no .json file"}
		}
		return nil
	}
	if err != nil {
		return err
	}
	threads, span, err := parseConversation(name, content)
	if err != nil {
		return err
	}
	if w.opened > 0 {
		w.start += time.Duration(w.random.ExpFloat64() * float64(w.gap))
	}
	if w.start > MaxTime {
		return fmt.Errorf("%s starts later than %d days after the first conversation; choose a smaller gap", name, MaxTime/(24*time.Hour))
	}
	for _, t := range threads {
		t.start += w.start
		t.base, t.seq = w.base, w.threads
		w.threads++
	}
	w.pending = threads
	w.opened++
	w.base += span
	return nil
}

// threadHeap orders threads by their next request.
type threadHeap []*thread

func (h threadHeap) Len() int      { return len(h) }
func (h threadHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h threadHeap) Less(i, j int) bool {
	if a, b := h[i].due(), h[j].due(); a != b {
		return a < b
	}
	return h[i].seq < h[j].seq
}
func (h *threadHeap) Push(t any) { *h = append(*h, t.(*thread)) }
func (h *threadHeap) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return t
}
