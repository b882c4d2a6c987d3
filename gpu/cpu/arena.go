package cpu

import (
	"fmt"

	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
)

// Reserve takes zeroed memory from the system, in large pages if it has them, for
// weights or for measurements. It returns the function that frees it.
func Reserve(bytes int) ([]byte, func() error, error) {
	b, free, err := reserve(bytes)
	if err == nil {
		adviseHuge(b)
	}
	return b, free, err
}

// reserve makes the arena.
func (l *loading) reserve() error {
	if l.arena == 0 {
		return nil
	}
	memory, free, err := Reserve(l.arena)
	if err != nil {
		return fmt.Errorf("not enough memory for the weights: %w; use a smaller model or a smaller weight-dtype", err)
	}
	l.weights.free, l.weights.arena = free, memory
	for i := range l.weights.all {
		if m := &l.weights.all[i]; len(l.program.Weights[i].Shape) == 2 {
			n := layout.Panels(m.rows) * m.form.PanelBytes(m.cols)
			m.panels, memory = memory[:n:n], memory[n:]
		}
	}
	return nil
}
