//go:build !amd64

package kernel

func scoresF32AVX512(*float32, int, int, *byte, *int, int, int, *float32) { panic(unreachable) }
func valuesF32AVX512(*float32, int, *byte, *int, int, int, int, int, *float32, int) {
	panic(unreachable)
}
func scoresBF16AVX512(*float32, int, int, *byte, *int, int, int, *float32) { panic(unreachable) }
func valuesBF16AVX512(*float32, int, *byte, *int, int, int, int, int, *float32, int) {
	panic(unreachable)
}
func scoresF16AVX512(*float32, int, int, *byte, *int, int, int, *float32) { panic(unreachable) }
func valuesF16AVX512(*float32, int, *byte, *int, int, int, int, int, *float32, int) {
	panic(unreachable)
}
func scoresI8AVX512(*float32, int, int, *byte, *int, int, int, *float32) { panic(unreachable) }
func valuesI8AVX512(*float32, int, *byte, *int, int, int, int, int, *float32, int) {
	panic(unreachable)
}
func softmaxAVX512(*float32, int, *int32, float32, *float32, *float32, *float32, *float32, *float32) {
	panic(unreachable)
}
func mixAVX512(*float32, *float32, float32, float32, int)                         { panic(unreachable) }
func scaledAVX512(*float32, *float32, float32, int)                               { panic(unreachable) }
func widenI8AVX512(*float32, *int8, int)                                          { panic(unreachable) }
func magnitudeAVX512(*float32, int) uint32                                        { panic(unreachable) }
func toI8AVX512(*int8, *float32, float32, int)                                    { panic(unreachable) }
func scoresF32AVX2(*float32, int, int, *byte, *int, int, int, *float32)           { panic(unreachable) }
func valuesF32AVX2(*float32, int, *byte, *int, int, int, int, int, *float32, int) { panic(unreachable) }
func scoresBF16AVX2(*float32, int, int, *byte, *int, int, int, *float32)          { panic(unreachable) }
func valuesBF16AVX2(*float32, int, *byte, *int, int, int, int, int, *float32, int) {
	panic(unreachable)
}
func scoresF16AVX2(*float32, int, int, *byte, *int, int, int, *float32)           { panic(unreachable) }
func valuesF16AVX2(*float32, int, *byte, *int, int, int, int, int, *float32, int) { panic(unreachable) }
func scoresI8AVX2(*float32, int, int, *byte, *int, int, int, *float32)            { panic(unreachable) }
func valuesI8AVX2(*float32, int, *byte, *int, int, int, int, int, *float32, int)  { panic(unreachable) }
func softmaxAVX2(*float32, int, *int32, float32, *float32, *float32, *float32, *float32, *float32) {
	panic(unreachable)
}
func mixAVX2(*float32, *float32, float32, float32, int) { panic(unreachable) }
func scaledAVX2(*float32, *float32, float32, int)       { panic(unreachable) }
func widenI8AVX2(*float32, *int8, int)                  { panic(unreachable) }
func magnitudeAVX2(*float32, int) uint32                { panic(unreachable) }
func toI8AVX2(*int8, *float32, float32, int)            { panic(unreachable) }
