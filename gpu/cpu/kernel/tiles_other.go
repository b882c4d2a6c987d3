//go:build !amd64

package kernel

func spreadQ8AVX512(_, _ *byte, _ int)                                            { panic(unreachable) }
func spreadQ4AVX512(_, _ *byte, _ int)                                            { panic(unreachable) }
func tileGemmAMX(_, _ []byte, _ []float32, _, _, _, _, _, _ int, _ []byte, _ int) { panic(unreachable) }
