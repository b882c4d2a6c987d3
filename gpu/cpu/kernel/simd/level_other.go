//go:build !amd64

package simd

// Supported reports whether this processor has the level.
func (l Level) Supported() bool { return l == Portable }

func (l Level) lacks() string {
	if l == Portable {
		return ""
	}
	return "an x86-64 processor"
}

func pause(int) {}

func prefetch(*byte, int, int) {}
