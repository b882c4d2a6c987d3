package intgemm

// The kernels of each size of tile. Calls by name, not by a table of functions,
// keep callers' buffers on their stacks.

func intQ8AVX512(w, x *byte, y *float32, groups, tokens, ldy, add int, fetch Fetch) {
	ahead, every := fetch.Ahead, fetch.Every
	switch tokens {
	case 1:
		intQ8x1AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 2:
		intQ8x2AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 3:
		intQ8x3AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 4:
		intQ8x4AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 5:
		intQ8x5AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 6:
		intQ8x6AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 7:
		intQ8x7AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 8:
		intQ8x8AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 9:
		intQ8x9AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 10:
		intQ8x10AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 11:
		intQ8x11AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 12:
		intQ8x12AVX512(w, x, y, groups, ldy, add, ahead, every)
	}
}

func intQ4AVX512(w, x *byte, y *float32, groups, tokens, ldy, add int, fetch Fetch) {
	ahead, every := fetch.Ahead, fetch.Every
	switch tokens {
	case 1:
		intQ4x1AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 2:
		intQ4x2AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 3:
		intQ4x3AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 4:
		intQ4x4AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 5:
		intQ4x5AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 6:
		intQ4x6AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 7:
		intQ4x7AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 8:
		intQ4x8AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 9:
		intQ4x9AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 10:
		intQ4x10AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 11:
		intQ4x11AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 12:
		intQ4x12AVX512(w, x, y, groups, ldy, add, ahead, every)
	}
}

func intQ8AVX2(w, x *byte, y *float32, groups, tokens, ldy, add int, fetch Fetch) {
	ahead, every := fetch.Ahead, fetch.Every
	switch tokens {
	case 1:
		intQ8x1AVX2(w, x, y, groups, ldy, add, ahead, every)
	case 2:
		intQ8x2AVX2(w, x, y, groups, ldy, add, ahead, every)
	case 3:
		intQ8x3AVX2(w, x, y, groups, ldy, add, ahead, every)
	case 4:
		intQ8x4AVX2(w, x, y, groups, ldy, add, ahead, every)
	case 5:
		intQ8x5AVX2(w, x, y, groups, ldy, add, ahead, every)
	case 6:
		intQ8x6AVX2(w, x, y, groups, ldy, add, ahead, every)
	}
}

func intQ4AVX2(w, x *byte, y *float32, groups, tokens, ldy, add int, fetch Fetch) {
	ahead, every := fetch.Ahead, fetch.Every
	switch tokens {
	case 1:
		intQ4x1AVX2(w, x, y, groups, ldy, add, ahead, every)
	case 2:
		intQ4x2AVX2(w, x, y, groups, ldy, add, ahead, every)
	case 3:
		intQ4x3AVX2(w, x, y, groups, ldy, add, ahead, every)
	case 4:
		intQ4x4AVX2(w, x, y, groups, ldy, add, ahead, every)
	case 5:
		intQ4x5AVX2(w, x, y, groups, ldy, add, ahead, every)
	case 6:
		intQ4x6AVX2(w, x, y, groups, ldy, add, ahead, every)
	}
}
