package work

import (
	"math/rand/v2"
	"time"
)

// Session is what one simulated user does: one request, or a conversation.
// It belongs to the caller of Next.
type Session struct {
	// Index is its place in the work, from 0.
	Index int
	// Due is when its first request is to be sent, from the start of the load.
	// It counts only if Timed.
	Due   time.Duration
	Timed bool
	// System is the first message of a chat; empty is none.
	System string
	Turns  []Turn
	// Stop are strings that end an answer.
	Stop []string
	// Check judges an answer; nil where there is nothing to judge.
	Check func(answer string) Verdict
}

// Turn is one request: what a user says, as text or as token ids, never both.
type Turn struct {
	Text string
	IDs  []int32
	// Input is how many tokens of prompt were wanted, a history not counted; 0
	// if not known. Exact with IDs, otherwise approximate.
	Input int
	// MaxTokens bounds the answer.
	MaxTokens int
}

// Verdict is what a check says of an answer.
type Verdict uint8

// The verdicts.
const (
	Unchecked Verdict = iota
	Right
	Wrong
	NoAnswer // the text has nothing to check
)

// Source gives sessions in order. Not safe for concurrent use.
type Source interface {
	// Next returns io.EOF after the last session.
	Next() (*Session, error)
	// Size is the number of sessions, 0 if it is unlimited or not known.
	Size() int
	// Describe is the work in one line; Notes are what a reader of the figures
	// must know besides.
	Describe() string
	Notes() []string
}

// Streams of random numbers: one for each use, so that none moves another.
const (
	streamRandom = iota + 1
	streamShared
	streamPrefix
	streamOrder
	streamArrivals
)

// stream gives the random numbers of one thing: equal arguments, equal numbers.
func stream(seed, use, index uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed^use<<56, index))
}
