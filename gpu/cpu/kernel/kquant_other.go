//go:build !amd64

package kernel

func intQ41AVX512(_, _ *byte, _ *float32, _, _, _, _ int, _ Fetch)     { panic(unreachable) }
func gemmQ41AVX512(*byte, int, *float32, int, *float32, int, int, int) { panic(unreachable) }
func intQ41AVX2(_, _ *byte, _ *float32, _, _, _, _ int, _ Fetch)       { panic(unreachable) }
func gemmQ41AVX2(*byte, int, *float32, int, *float32, int, int, int)   { panic(unreachable) }
func intQ4KAVX512(_, _ *byte, _ *float32, _, _, _, _ int, _ Fetch)     { panic(unreachable) }
func gemmQ4KAVX512(*byte, int, *float32, int, *float32, int, int, int) { panic(unreachable) }
func intQ4KAVX2(_, _ *byte, _ *float32, _, _, _, _ int, _ Fetch)       { panic(unreachable) }
func gemmQ4KAVX2(*byte, int, *float32, int, *float32, int, int, int)   { panic(unreachable) }
func intQ6KAVX512(_, _ *byte, _ *float32, _, _, _, _ int, _ Fetch)     { panic(unreachable) }
func gemmQ6KAVX512(*byte, int, *float32, int, *float32, int, int, int) { panic(unreachable) }
func intQ6KAVX2(_, _ *byte, _ *float32, _, _, _, _ int, _ Fetch)       { panic(unreachable) }
func gemmQ6KAVX2(*byte, int, *float32, int, *float32, int, int, int)   { panic(unreachable) }
