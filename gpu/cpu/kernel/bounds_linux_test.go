package kernel

import (
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fenced is memory between two pages that may not be touched: a kernel that
// reads or writes outside its operands ends the process.
type fenced struct {
	t      testing.TB
	memory [][]byte // by place; places before next are taken
	next   int
	front  bool // operands stand behind the first page, not before the last one
}

// bytes is n bytes beside a fence.
func (f *fenced) bytes(n int) []byte {
	if f.next == len(f.memory) {
		page, most := os.Getpagesize(), 1<<20
		m, err := unix.Mmap(-1, 0, page+most+page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err != nil {
			f.t.Fatal(err)
		}
		f.t.Cleanup(func() {
			if err := unix.Munmap(m); err != nil {
				f.t.Error(err)
			}
		})
		for _, fence := range [][]byte{m[:page], m[page+most:]} {
			if err := unix.Mprotect(fence, unix.PROT_NONE); err != nil {
				f.t.Fatal(err)
			}
		}
		f.memory = append(f.memory, m[page:page+most])
	}
	m := f.memory[f.next]
	f.next++
	if f.front {
		return m[:n]
	}
	return m[len(m)-n:]
}

func (f *fenced) floats(n int) []float32 {
	b := f.bytes(4 * n)
	return unsafe.Slice((*float32)(unsafe.Pointer(&b[0])), n)
}

// fences calls do with operands before a fence and with operands behind one.
func fences(t *testing.T, do func(*fenced)) {
	f := &fenced{t: t}
	for _, f.front = range []bool{false, true} {
		do(f)
	}
}

// TestProductsStayInside: of any size of tile, of columns and of rows apart.
func TestProductsStayInside(t *testing.T) {
	fences(t, func(f *fenced) {
		for _, l := range Levels() {
			for form := range forms {
				form := Form(form)
				for _, cols := range []int{1, 2, 3, 5, GroupCols, 3 * GroupCols, blockGroups * GroupCols, 3 * blockGroups * GroupCols} {
					if cols%form.Unit() != 0 && form != BF16 {
						continue
					}
					for tokens := 1; tokens <= l.TileTokens(); tokens++ {
						inside(f, l, form, cols, tokens, PanelRows, false)
						inside(f, l, form, cols, tokens, PanelRows+1, true)
					}
				}
			}
		}
	})
}

// inside is a product with activations of float32 and, where there is one, with those
// of integers.
func inside(f *fenced, l Level, form Form, cols, tokens, ldy int, add bool) {
	f.next = 0
	panel, y := f.bytes(form.PanelBytes(cols)), f.floats((tokens-1)*ldy+PanelRows)
	Gemm(l, form, panel, cols, f.floats(cols*tokens), tokens, y, ldy, add, 64)
	if form == BF16 || form == F16 {
		WidenPanel(l, form, f.bytes(F32.PanelBytes(cols)), panel, cols)
	}
	if form.Integer() {
		groups := cols / GroupCols
		IntGemm(l, form, panel, groups, f.bytes(IntTileBytes(groups, tokens)), tokens, y, ldy, add, Fetch{Ahead: 64, Every: 1})
	}
}

func TestTilesStayInside(t *testing.T) {
	needTiles(t)
	fences(t, func(f *fenced) {
		for _, form := range []Form{Q8, Q4} {
			for groups := 1; groups < 6; groups++ {
				f.next = 0
				SpreadGroups(form, f.bytes(form.PanelBytes(groups*GroupCols)), groups, f.bytes(SpreadBytes(groups)))
				for tokens := 1; tokens <= TileRows; tokens++ {
					for tiles := 1; tiles < 4; tiles++ {
						f.next = 0
						each, ldy := IntTileBytes(groups, tokens), PanelRows+tiles%2
						TileGemm(f.bytes(SpreadBytes(groups)), groups, f.bytes((tiles-1)*(each+8)+each), tokens, tiles, each+8,
							f.floats((tiles*tokens-1)*ldy+PanelRows), ldy, groups%2 == 0, f.bytes(200))
					}
				}
			}
		}
	})
}

func TestActivationsStayInside(t *testing.T) {
	fences(t, func(f *fenced) {
		for _, l := range Levels() {
			for tokens := 1; tokens <= TileRows; tokens++ {
				for groups := 1; groups < 4; groups++ {
					for _, layout := range []IntLayout{Quads, Rows} {
						f.next = 0
						x, tile := f.floats(groups*GroupCols), f.bytes(IntTileBytes(groups, tokens))
						for token := range tokens {
							QuantizeRow(l, layout, x, tile, token, tokens)
						}
					}
				}
				for _, cols := range []int{1, 7, 8, 31, 64, 65} {
					f.next = 0
					PackTile(l, f.floats(tokens*cols), f.floats((tokens-1)*(cols+3)+cols), cols+3, tokens, cols)
				}
			}
		}
	})
}
