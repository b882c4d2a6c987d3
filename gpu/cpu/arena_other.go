//go:build !unix

package cpu

// reserve takes zeroed memory from the Go heap, where the collector frees it.
func reserve(bytes int) ([]byte, func() error, error) {
	return make([]byte, bytes), func() error { return nil }, nil
}

func adviseHuge([]byte) {}
