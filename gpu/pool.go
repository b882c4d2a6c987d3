package gpu

import (
	"fmt"
	"slices"
	"strings"
)

// PoolSpec sizes the KV pool and the table of rows. A step that exceeds it is refused.
type PoolSpec struct {
	PageSize int // slots a page, a power of two
	Pages    int // usable pages 1..Pages; page 0 is padding and comes on top
	DType    DType
	Layout   Layout

	Rows       int // rows of the table, at least 1
	Context    int // positions of a row, 1 to Program.Context
	StepTokens int // tokens that one step computes, at least 1
}

// Layout is how a pool stores KV. It changes no result: other code uses pages and slots.
type Layout uint8

const (
	// Contiguous keeps the keys, or the values, of one layer and head together
	// for all slots. Attention reads neighbouring pages as one run of memory.
	Contiguous Layout = iota
	// Paged keeps all that belongs to a page together, for all layers and
	// heads: a page is copied or moved elsewhere as one run of memory.
	Paged
)

var layouts = [...]string{Contiguous: "contiguous", Paged: "paged"}

// String is the name used in settings.
func (l Layout) String() string {
	if int(l) < len(layouts) {
		return layouts[l]
	}
	return "unknown"
}

// ParseLayout finds a layout by its name.
func ParseLayout(name string) (Layout, error) {
	if i := slices.Index(layouts[:], name); i >= 0 {
		return Layout(i), nil
	}
	return 0, fmt.Errorf("KV layout %q is not known; use one of %s", name, strings.Join(layouts[:], ", "))
}
