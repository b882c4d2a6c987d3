//go:build !amd64

package kernel

func pause(int) {}

func prefetch(*byte, int, int) {}

// The levels of other platforms have no assembly.
func readSumAVX512(*byte, int) float32 { panic(unreachable) }
func readSumAVX2(*byte, int) float32   { panic(unreachable) }

const unreachable = "kernel: this platform has no such level"
