package work

import (
	"cmp"
	"fmt"
)

// AtLeast is the error of a flag's value below its minimum.
func AtLeast[T cmp.Ordered](low, value T, flag string) error {
	if value >= low {
		return nil
	}
	return fmt.Errorf("--%s is %v; it must be at least %v", flag, value, low)
}

// maxLength bounds the parts of a request, which are made in memory, in tokens.
const maxLength = 1 << 24

func checkLength(tokens int, flag string) error {
	if tokens < 1 || tokens > maxLength {
		return fmt.Errorf("--%s is %d; it must be between 1 and %d", flag, tokens, maxLength)
	}
	return nil
}
