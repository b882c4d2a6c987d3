package bench

import "math/rand/v2"

// Prompts makes tokens, the same for the same seed.
type Prompts struct {
	Seed  uint64
	Vocab int // ids are below it
}

// Base is what is in a sequence's cache before a test: the same in every
// test and repetition, the shorter one a beginning of the longer one.
func (p Prompts) Base(sequence, tokens int) []int32 {
	return p.tokens(1+uint64(sequence), tokens)
}

// fresh is a prompt that shares no prefix.
func (p Prompts) fresh(t Test, repetition int) []int32 {
	const others = 1 << 40 // above the number of every sequence
	return p.tokens(others+uint64(t.Depth)<<8+uint64(t.Prompt)<<32+uint64(repetition), t.Prompt)
}

func (p Prompts) tokens(stream uint64, n int) []int32 {
	r := rand.New(rand.NewPCG(p.Seed, stream))
	list := make([]int32, n)
	for i := range list {
		list[i] = r.Int32N(int32(p.Vocab))
	}
	return list
}
