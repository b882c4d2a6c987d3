package paging

import (
	"fmt"
	"strings"
	"testing"
)

func TestPageArithmetic(t *testing.T) {
	for _, tc := range []struct{ tokens, size, up, down int }{
		{0, 1, 0, 0}, {5, 1, 5, 5}, {0, 16, 0, 0}, {1, 16, 1, 0}, {16, 16, 1, 1}, {17, 16, 2, 1},
		{131074, 64, 131136 / 64, 2048}, // the row width of a context
	} {
		if up, down := Pages(tc.tokens, tc.size), Whole(tc.tokens, tc.size); up != tc.up || down != tc.down {
			t.Errorf("%d tokens in pages of %d: %d, %d whole", tc.tokens, tc.size, up, down)
		}
	}
}

func TestCheckSize(t *testing.T) {
	for _, n := range []int{1, 2, 16, 64, 1 << 20} {
		if err := CheckSize(n); err != nil {
			t.Errorf("page size %d is refused: %v", n, err)
		}
	}
	for _, n := range []int{0, -1, -16, 3, 12, 65} {
		if err := CheckSize(n); err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("is %d; it must be a power of two", n)) {
			t.Errorf("page size %d: %v", n, err)
		}
	}
}

func TestCommonPrefix(t *testing.T) {
	a := make([]int32, 40)
	for n := range 41 {
		for differ := range n + 1 {
			b := make([]int32, n)
			if differ < n {
				b[differ] = 1
			}
			if got := CommonPrefix(a, b); got != differ {
				t.Fatalf("%d tokens, first difference at %d: got %d", n, differ, got)
			}
			if got := CommonPrefix(b, a); got != differ {
				t.Fatalf("%d tokens, first difference at %d, swapped: got %d", n, differ, got)
			}
		}
	}
}
