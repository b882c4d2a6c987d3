//go:build cuda

package cuda

import (
	"math"

	"github.com/troupe-engine/troupe/gpu/cuda/driver"
)

// launch is the run of a kernel with everything but the number of rows.
type launch struct {
	forms []form // the first one with enough rows is taken
	when  when
}

// form is a kernel, and how it is started for at most some rows.
type form struct {
	rows      int // 0: any number
	function  *driver.Function
	block     int // threads
	shared    int // bytes of dynamic shared memory of a block
	grid      func(rows int) driver.Dim
	arguments []uint64
}

// when says in which steps a launch has something to do.
type when int

const (
	always     when = iota
	someAlone       // a sequence has one token in the step
	somePrompt      // a sequence has several
)

// launch adds a kernel over some rows to the stream; none: nothing.
func (s *step) launch(l *launch, rows int) error {
	if rows == 0 || l.when == someAlone && !s.alone || l.when == somePrompt && !s.prompt {
		return nil
	}
	f := l.form(rows)
	return s.model.stream.Launch(f.function, f.grid(rows), driver.Dim{X: f.block}, f.shared, f.arguments)
}

// form is how a launch is done for some rows. The last form is for any number.
func (l *launch) form(rows int) *form {
	for i := range l.forms {
		if f := &l.forms[i]; f.rows == 0 || rows <= f.rows {
			return f
		}
	}
	panic("cuda: a launch has no form for any number of rows")
}

// launchOf is a launch of one form.
func launchOf(f form) launch { return launch{forms: []form{f}} }

// floatBits is a float as an argument of a kernel.
func floatBits(f float32) uint64 { return uint64(math.Float32bits(f)) }

// flag is a bool as an argument of a kernel.
func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// rowsBy is a grid of rows and parts.
func rowsBy(parts int) func(int) driver.Dim {
	return func(rows int) driver.Dim { return driver.Dim{X: rows, Y: parts} }
}

// ceilDiv is n / size, rounded up.
func ceilDiv(n, size int) int { return (n + size - 1) / size }
