//go:build !amd64

package kernel

func gemmF32AVX512(*byte, int, *float32, int, *float32, int, int, int)  { panic(unreachable) }
func gemmBF16AVX512(*byte, int, *float32, int, *float32, int, int, int) { panic(unreachable) }
func gemmF16AVX512(*byte, int, *float32, int, *float32, int, int, int)  { panic(unreachable) }
func gemmQ8AVX512(*byte, int, *float32, int, *float32, int, int, int)   { panic(unreachable) }
func gemmQ4AVX512(*byte, int, *float32, int, *float32, int, int, int)   { panic(unreachable) }
func gemmF32AVX2(*byte, int, *float32, int, *float32, int, int, int)    { panic(unreachable) }
func gemmBF16AVX2(*byte, int, *float32, int, *float32, int, int, int)   { panic(unreachable) }
func gemmF16AVX2(*byte, int, *float32, int, *float32, int, int, int)    { panic(unreachable) }
func gemmQ8AVX2(*byte, int, *float32, int, *float32, int, int, int)     { panic(unreachable) }
func gemmQ4AVX2(*byte, int, *float32, int, *float32, int, int, int)     { panic(unreachable) }
func multiplyAddsAVX512(int)                                            { panic(unreachable) }
func transposeAVX2(*float32, int, *float32, int, int)                   { panic(unreachable) }
func multiplyAddsAVX2(int)                                              { panic(unreachable) }
func widenPairsAVX512(*byte, *byte, int)                                { panic(unreachable) }
func widenPairsAVX2(*byte, *byte, int)                                  { panic(unreachable) }
