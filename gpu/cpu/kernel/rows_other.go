//go:build !amd64

package kernel

func sumSquaresAVX512(*float32, int) float32                     { panic(unreachable) }
func scaleGainAVX512(*float32, *float32, *float32, float32, int) { panic(unreachable) }
func rotateAVX512(*float32, *float32, *float32, *float32, int)   { panic(unreachable) }
func siluMulAVX512(*float32, *float32, *float32, int)            { panic(unreachable) }
func widenBF16AVX512(*float32, *uint16, int)                     { panic(unreachable) }
func narrowBF16AVX512(*uint16, *float32, int)                    { panic(unreachable) }
func widenF16AVX512(*float32, *uint16, int)                      { panic(unreachable) }
func narrowF16AVX512(*uint16, *float32, int)                     { panic(unreachable) }
func peakAVX512(*float32, int) (peak float32, nan int32)         { panic(unreachable) }
func findAVX512(*float32, int, float32) int                      { panic(unreachable) }
func collectAVX512(*float32, int, float32, int32, *int32) int    { panic(unreachable) }
func expSumAVX512(*float32, int, float64, float64) float64       { panic(unreachable) }
func sumSquaresAVX2(*float32, int) float32                       { panic(unreachable) }
func scaleGainAVX2(*float32, *float32, *float32, float32, int)   { panic(unreachable) }
func rotateAVX2(*float32, *float32, *float32, *float32, int)     { panic(unreachable) }
func siluMulAVX2(*float32, *float32, *float32, int)              { panic(unreachable) }
func widenBF16AVX2(*float32, *uint16, int)                       { panic(unreachable) }
func narrowBF16AVX2(*uint16, *float32, int)                      { panic(unreachable) }
func widenF16AVX2(*float32, *uint16, int)                        { panic(unreachable) }
func narrowF16AVX2(*uint16, *float32, int)                       { panic(unreachable) }
func peakAVX2(*float32, int) (peak float32, nan int32)           { panic(unreachable) }
func findAVX2(*float32, int, float32) int                        { panic(unreachable) }
func collectAVX2(*float32, int, float32, int32, *int32) int      { panic(unreachable) }
func expSumAVX2(*float32, int, float64, float64) float64         { panic(unreachable) }
