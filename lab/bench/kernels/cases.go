package kernels

import (
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
)

// Kinds are the groups of kernels, in the order of measuring.
var Kinds = []string{"gemm", "integer", "attention", "small"}

// Choice selects cases. Empty lists select all.
type Choice struct {
	Levels []simd.Level
	Kinds  []string
	Forms  []string // of weights, and of K and V
	Tokens []int    // of products
}

// DefaultTokens are one token, small decode batches, and a prefill chunk.
var DefaultTokens = []int{1, 4, 16, 64, 512}

func (c *Choice) Check() error {
	forms := FormNames()
	for _, f := range c.Forms {
		if !slices.Contains(forms, f) {
			return fmt.Errorf("--form %q is not known; use one of %s", f, strings.Join(forms, ", "))
		}
	}
	for _, k := range c.Kinds {
		if !slices.Contains(Kinds, k) {
			return fmt.Errorf("--kernel %q is not known; use one of %s", k, strings.Join(Kinds, ", "))
		}
	}
	for _, t := range c.Tokens {
		if t < 1 || t > 1<<14 {
			return fmt.Errorf("--tokens has %d; each entry must be between 1 and %d", t, 1<<14)
		}
	}
	return nil
}

// FormNames are the names of all forms, of weights and of K and V.
func FormNames() []string {
	var names []string
	for _, f := range layout.Forms {
		names = append(names, f.String())
	}
	for _, kv := range kvTypes {
		if name := kv.String(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func (c *Choice) wants(kind, form string) bool {
	return (len(c.Kinds) == 0 || slices.Contains(c.Kinds, kind)) && (form == "" || len(c.Forms) == 0 || slices.Contains(c.Forms, form))
}

// portableRows are the rows of products in plain Go: fewer, as they would take minutes.
const portableRows = Rows / 16

// Each calls do for each case until it fails. memory holds one form's weights at a time.
func (c *Choice) Each(memory []byte, do func(Case) error) error {
	levels, tokens := c.Levels, c.Tokens
	if len(levels) == 0 {
		levels = simd.Levels()
	}
	if len(tokens) == 0 {
		tokens = DefaultTokens
	}
	for _, f := range layout.Forms {
		gemm, integer := c.wants("gemm", f.String()), c.wants("integer", f.String()) && f.Integer()
		for _, l := range levels {
			if !gemm && !integer {
				continue
			}
			rows := Rows
			if l == simd.Portable {
				rows = portableRows
			}
			w, err := fill(f, memory, rows)
			if err != nil {
				return err
			}
			for _, t := range tokens {
				for _, rounded := range []bool{false, true} {
					if rounded && !integer || !rounded && !gemm {
						continue
					}
					k, err := w.product(l, t, rounded)
					if err == nil {
						err = do(k)
					}
					if err != nil {
						return err
					}
				}
			}
		}
	}
	if err := c.eachAttention(memory, levels, do); err != nil || !c.wants("small", "") {
		return err
	}
	for _, l := range levels {
		for _, k := range small(l) {
			if err := do(k); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Choice) eachAttention(memory []byte, levels []simd.Level, do func(Case) error) error {
	for _, kv := range kvTypes {
		if !c.wants("attention", kv.String()) {
			continue
		}
		pool, err := newCache(kv, memory)
		if err != nil {
			return err
		}
		for _, l := range levels {
			if l == simd.Portable && kv != gpu.F32 {
				continue // widened first, so that it is the case of f32
			}
			for _, tokens := range []int{1, queryTokens} {
				k, err := pool.attention(l, tokens)
				if err == nil {
					err = do(k)
				}
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}
