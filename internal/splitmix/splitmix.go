// Package splitmix has the output function of SplitMix64 (Steele, Lea and Flood: Fast
// Splittable Pseudorandom Number Generators, OOPSLA 2014).
package splitmix

// Step is the distance of two states of the sequence, an odd number.
const Step = 0x9e3779b97f4a7c15

// Mix is a bijection in which every input bit affects every output bit.
func Mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
