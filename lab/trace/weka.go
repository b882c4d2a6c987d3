package trace

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"
)

// weka reads the coding-agent traces of callanjfox/kv-cache-tester: files of one
// conversation each, with their own times and block ids. They are merged: each
// conversation starts some time after the one before it, drawn from Options, and gets its
// own range of block ids. Agents that a conversation starts run in parallel and share its
// range. Only running conversations are in memory.
type weka struct {
	*members
	path   string
	gap    time.Duration
	random *rand.Rand

	live    []*thread     // in the order of their next requests
	start   time.Duration // of the next conversation
	ended   bool          // there is none
	base    uint64        // block ids given away
	threads int
	line    int
}

func openWeka(path string, opts Options) (Reader, error) {
	m, err := openMembers(path)
	if err != nil {
		return nil, err
	}
	gap := cmp.Or(opts.ConversationGap, DefaultConversationGap)
	return &weka{members: m, path: path, gap: gap, random: rand.New(rand.NewPCG(opts.Seed, 0x77656b61))}, nil
}

func (w *weka) Next() (*Request, error) {
	// A conversation starts no earlier than the one before it. So the next request is
	// among the open ones if it comes before the next conversation.
	for !w.ended && (len(w.live) == 0 || w.live[0].due() >= w.start) {
		if err := w.open(); err != nil {
			return nil, err
		}
	}
	if len(w.live) == 0 {
		return nil, io.EOF
	}
	t := w.live[0]
	w.live = slices.Delete(w.live, 0, 1)
	r := t.pop()
	if t.next < len(t.turns) {
		w.add(t)
	}
	w.line++
	r.Line = w.line
	return r, nil
}

// add puts a thread at its place by its next request.
func (w *weka) add(t *thread) {
	at, _ := slices.BinarySearchFunc(w.live, t, func(a, b *thread) int { return cmp.Or(cmp.Compare(a.due(), b.due()), a.seq-b.seq) })
	w.live = slices.Insert(w.live, at, t)
}

// open reads the next conversation, or sets ended.
func (w *weka) open() error {
	name, content, err := w.members.next()
	switch {
	case errors.Is(err, io.EOF) && w.threads == 0:
		return &Error{File: w.path, What: "the archive has no .json file"}
	case errors.Is(err, io.EOF):
		w.ended = true
		return nil
	case err != nil:
		return err
	}
	threads, span, err := parseConversation(name, content)
	if err != nil {
		return err
	}
	if w.start > MaxTime {
		return fmt.Errorf("%s starts more than %d days after the first conversation; lower the gap between conversations (--conversation-gap)", name, MaxTime/(24*time.Hour))
	}
	for _, t := range threads {
		t.start += w.start
		t.base, t.seq = w.base, w.threads
		w.threads++
		w.add(t)
	}
	w.base += span
	w.start += time.Duration(w.random.ExpFloat64() * float64(w.gap))
	return nil
}
