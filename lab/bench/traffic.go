package bench

// Traffic is what a step reads.
type Traffic struct {
	WeightBytes int64 // 0: not known
	KVBytes     int64 // of a position
}

// positions is how many positions of the KV pool a prompt reads after a depth, in
// chunks: each chunk reads those before it and its own once.
func positions(depth, tokens, chunk int) (steps int, read int64) {
	for done := 0; done < tokens; steps++ {
		done = min(done+chunk, tokens)
		read += int64(depth + done)
	}
	return steps, read
}

// Decoded is how many positions the tokens of each sequence read; before is how
// many the first one sees before it.
func Decoded(before, tokens, sequences int) int64 {
	n, first := int64(tokens), int64(before)+1 // its own position included
	return int64(sequences) * (n*first + n*(n-1)/2)
}
