package intgemm

// The kernels of each size of tile, as in inttiles_amd64.go.

func intQ41AVX512(w, x *byte, y *float32, groups, tokens, ldy, add int, fetch Fetch) {
	ahead, every := fetch.Ahead, fetch.Every
	switch tokens {
	case 1:
		intQ41x1AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 2:
		intQ41x2AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 3:
		intQ41x3AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 4:
		intQ41x4AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 5:
		intQ41x5AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 6:
		intQ41x6AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 7:
		intQ41x7AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 8:
		intQ41x8AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 9:
		intQ41x9AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 10:
		intQ41x10AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 11:
		intQ41x11AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 12:
		intQ41x12AVX512(w, x, y, groups, ldy, add, ahead, every)
	}
}

func intQ41AVX2(w, x *byte, y *float32, groups, tokens, ldy, add int, fetch Fetch) {
	ahead, every := fetch.Ahead, fetch.Every
	switch tokens {
	case 1:
		intQ41x1AVX2(w, x, y, groups, ldy, add, ahead, every)
	case 2:
		intQ41x2AVX2(w, x, y, groups, ldy, add, ahead, every)
	case 3:
		intQ41x3AVX2(w, x, y, groups, ldy, add, ahead, every)
	case 4:
		intQ41x4AVX2(w, x, y, groups, ldy, add, ahead, every)
	case 5:
		intQ41x5AVX2(w, x, y, groups, ldy, add, ahead, every)
	case 6:
		intQ41x6AVX2(w, x, y, groups, ldy, add, ahead, every)
	}
}

func intQ4KAVX512(w, x *byte, y *float32, groups, tokens, ldy, add int, fetch Fetch) {
	ahead, every := fetch.Ahead, fetch.Every
	switch tokens {
	case 1:
		intQ4Kx1AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 2:
		intQ4Kx2AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 3:
		intQ4Kx3AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 4:
		intQ4Kx4AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 5:
		intQ4Kx5AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 6:
		intQ4Kx6AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 7:
		intQ4Kx7AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 8:
		intQ4Kx8AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 9:
		intQ4Kx9AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 10:
		intQ4Kx10AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 11:
		intQ4Kx11AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 12:
		intQ4Kx12AVX512(w, x, y, groups, ldy, add, ahead, every)
	}
}

func intQ4KAVX2(w, x *byte, y *float32, groups, tokens, ldy, add int, fetch Fetch) {
	ahead, every := fetch.Ahead, fetch.Every
	switch tokens {
	case 1:
		intQ4Kx1AVX2(w, x, y, groups, ldy, add, ahead, every)
	case 2:
		intQ4Kx2AVX2(w, x, y, groups, ldy, add, ahead, every)
	case 3:
		intQ4Kx3AVX2(w, x, y, groups, ldy, add, ahead, every)
	case 4:
		intQ4Kx4AVX2(w, x, y, groups, ldy, add, ahead, every)
	case 5:
		intQ4Kx5AVX2(w, x, y, groups, ldy, add, ahead, every)
	case 6:
		intQ4Kx6AVX2(w, x, y, groups, ldy, add, ahead, every)
	}
}

func intQ6KAVX512(w, x *byte, y *float32, groups, tokens, ldy, add int, fetch Fetch) {
	ahead, every := fetch.Ahead, fetch.Every
	switch tokens {
	case 1:
		intQ6Kx1AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 2:
		intQ6Kx2AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 3:
		intQ6Kx3AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 4:
		intQ6Kx4AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 5:
		intQ6Kx5AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 6:
		intQ6Kx6AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 7:
		intQ6Kx7AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 8:
		intQ6Kx8AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 9:
		intQ6Kx9AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 10:
		intQ6Kx10AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 11:
		intQ6Kx11AVX512(w, x, y, groups, ldy, add, ahead, every)
	case 12:
		intQ6Kx12AVX512(w, x, y, groups, ldy, add, ahead, every)
	}
}

func intQ6KAVX2(w, x *byte, y *float32, groups, tokens, ldy, add int, fetch Fetch) {
	ahead, every := fetch.Ahead, fetch.Every
	switch tokens {
	case 1:
		intQ6Kx1AVX2(w, x, y, groups, ldy, add, ahead, every)
	case 2:
		intQ6Kx2AVX2(w, x, y, groups, ldy, add, ahead, every)
	case 3:
		intQ6Kx3AVX2(w, x, y, groups, ldy, add, ahead, every)
	case 4:
		intQ6Kx4AVX2(w, x, y, groups, ldy, add, ahead, every)
	case 5:
		intQ6Kx5AVX2(w, x, y, groups, ldy, add, ahead, every)
	case 6:
		intQ6Kx6AVX2(w, x, y, groups, ldy, add, ahead, every)
	}
}
