package work

import (
	"io"
	"math/rand/v2"
	"time"
)

// Session is one simulated user's request or conversation. It belongs to Next's caller.
type Session struct {
	Index  int           // position in the work, from 0
	Due    time.Duration // of its first request, from the start of the load; only if Timed
	Timed  bool
	System string // first message of a chat; empty: none
	Turns  []Turn
	Stop   []string                    // strings that end an answer
	Check  func(answer string) Verdict // judges an answer; nil: nothing to judge
}

// Turn is one request: what a user says, as text or as token ids, never both.
type Turn struct {
	Text string
	IDs  []int32
	// Input is the number of prompt tokens asked for, without the history; 0 if
	// not known. Exact with IDs, otherwise approximate.
	Input     int
	MaxTokens int // of the answer
}

type Verdict uint8

const (
	Unchecked Verdict = iota
	Right
	Wrong
	NoAnswer // the text has nothing to check
)

// Source makes sessions in order. Not safe for concurrent use.
type Source struct {
	Description string   // the work in one line
	Notes       []string // what a reader of the figures must know besides
	Size        int      // number of sessions, 0 if unlimited or unknown
	// Make makes the session of an index; if Size is 0, it returns io.EOF at the end.
	Make func(index int) (*Session, error)

	next int
}

// Next returns io.EOF after the last session.
func (s *Source) Next() (*Session, error) {
	if s.Size > 0 && s.next == s.Size {
		return nil, io.EOF
	}
	session, err := s.Make(s.next)
	if err != nil {
		return nil, err
	}
	session.Index = s.next
	s.next++
	return session, nil
}

// Streams of random numbers: one for each use, so that uses do not affect each other.
const (
	streamRandom = iota + 1
	streamShared
	streamPrefix
	streamOrder
	streamArrivals
)

// stream returns the random numbers of one use: equal arguments, equal numbers.
func stream(seed, use, index uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed^use<<56, index))
}

// shuffled is the numbers below n in the order of a seed.
func shuffled(seed uint64, n int) []int {
	return rand.New(rand.NewPCG(seed, streamOrder)).Perm(n)
}
