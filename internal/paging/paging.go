// Package paging has the arithmetic of KV pages: valid page sizes, the number of pages
// for a number of tokens, and the prefix that two token sequences share.
package paging

import "fmt"

// CheckSize returns an error unless a page may hold n tokens. The size is a
// power of two, 1 included, so that a device finds page and offset of a position
// by shift and mask. The caller adds the name of the setting.
func CheckSize(n int) error {
	if n < 1 || n&(n-1) != 0 {
		return fmt.Errorf("is %d; it must be a power of two, for example 1, 16 or 64", n)
	}
	return nil
}

// Pages is the number of pages that hold the KV of some tokens: rounded up.
func Pages(tokens, pageSize int) int { return (tokens + pageSize - 1) / pageSize }

// Whole is the number of pages that some tokens fill completely: rounded down.
// Only whole pages are cached; a partial last page stays with its request.
func Whole(tokens, pageSize int) int { return tokens / pageSize }

// CommonPrefix is the length of the longest common prefix of two token sequences.
func CommonPrefix(a, b []int32) int {
	const block = 16
	n := min(len(a), len(b))
	a, b = a[:n], b[:n]
	i := 0
	for ; i+block <= n; i += block {
		// Arrays compare as one piece of memory.
		if *(*[block]int32)(a[i:]) != *(*[block]int32)(b[i:]) {
			break
		}
	}
	for ; i < n && a[i] == b[i]; i++ {
	}
	return i
}
