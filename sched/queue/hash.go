package queue

// scramble is the output function of SplitMix64 (Steele, Lea and Flood, Fast
// Splittable Pseudorandom Number Generators, OOPSLA 2014): a bijection in which
// every input bit affects every output bit.
func scramble(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// prefixKey hashes a prefix. After a collision, a request waits for another one
// with which it shares nothing; no result changes.
func prefixKey(namespace string, tokens []int32) uint64 {
	h := scramble(uint64(len(tokens)))
	for i := range len(namespace) {
		h = scramble(h ^ uint64(namespace[i]))
	}
	h = scramble(h + 0x9e3779b97f4a7c15)
	for _, token := range tokens {
		h = scramble(h ^ uint64(uint32(token)))
	}
	return h
}
