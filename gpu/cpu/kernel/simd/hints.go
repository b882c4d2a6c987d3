package simd

// Flag is a bool as assembly takes it.
func Flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Pause tells the processor n times that the caller is in a spin loop.
func Pause(n int) {
	if n > 0 {
		pause(n)
	}
}

// Prefetch brings memory that is read soon into the cache: the lines at b[0],
// b[apart], b[2*apart] and so on. It returns at once and changes nothing.
func Prefetch(b []byte, apart int) {
	if n := (len(b) + apart - 1) / apart; n > 0 {
		prefetch(&b[0], n, apart)
	}
}
