package memory

import "github.com/troupe-engine/troupe/internal/invariants"

// PagesFor is how many pages hold the KV of tokens tokens: rounded up.
func PagesFor(tokens, pageSize int) int { return (tokens + pageSize - 1) / pageSize }

// WholePages is how many pages tokens tokens fill completely: rounded down.
// Only these can be cached; a partial last page stays with its request.
func WholePages(tokens, pageSize int) int { return tokens / pageSize }

// ValidPageSize reports whether a page may hold n tokens: a power of two, 1
// included.
func ValidPageSize(n int) bool { return n >= 1 && n&(n-1) == 0 }

func checkPageSize(n int) {
	invariants.Check(ValidPageSize(n), "page size %d is not a power of two", n)
}
