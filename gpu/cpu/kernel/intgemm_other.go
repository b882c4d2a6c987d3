//go:build !amd64

package kernel

func quantizeRowAVX2(*float32, *byte, int, int, int, int)         { panic(unreachable) }
func intQ8AVX512(_, _ *byte, _ *float32, _, _, _, _ int, _ Fetch) { panic(unreachable) }
func intQ4AVX512(_, _ *byte, _ *float32, _, _, _, _ int, _ Fetch) { panic(unreachable) }
func intPeakAVX512(int)                                           { panic(unreachable) }
func intPeakAVX2(int)                                             { panic(unreachable) }
func intQ8AVX2(_, _ *byte, _ *float32, _, _, _, _ int, _ Fetch)   { panic(unreachable) }
func intQ4AVX2(_, _ *byte, _ *float32, _, _, _, _ int, _ Fetch)   { panic(unreachable) }
