package trace

import "github.com/troupe-engine/troupe/internal/splitmix"

// Tokens appends a prompt of r.Input token ids that shares prefixes as the trace
// says. Equal block ids have equal tokens; two ids below 2^31 never share a first
// token, others almost never. What no block covers (everything in a trace without
// blocks) is the request's own. Token ids are at least 0 and use 31 bits.
func (r *Request) Tokens(dst []int32) []int32 {
	left := r.Input
	for _, id := range r.Blocks {
		n := min(r.BlockSize, left)
		dst = appendBlock(dst, id, n)
		left -= n
	}
	// The top bit keeps these ids apart from a trace's own in most tokens.
	return appendBlock(dst, 1<<63|uint64(r.Line), left)
}

// appendBlock appends a block's first n tokens. Multiplying by an odd number,
// splitmix.Step, permutes the numbers below 2^31, so small ids differ in the first token.
func appendBlock(dst []int32, id uint64, n int) []int32 {
	if n <= 0 {
		return dst
	}
	first := id
	if high := id >> 31; high != 0 {
		first ^= splitmix.Mix(high)
	}
	dst = append(dst, int32(first*splitmix.Step&(1<<31-1)))
	seed := splitmix.Mix(id)
	for j := 1; j < n; j++ {
		seed += splitmix.Step
		dst = append(dst, int32((seed^seed>>32)*0xd6e8feb86659fd93>>33))
	}
	return dst
}
