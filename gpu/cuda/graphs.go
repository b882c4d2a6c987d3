//go:build cuda

package cuda

import (
	"errors"

	"github.com/troupe-engine/troupe/gpu/cuda/driver"
)

// graphs are the kernels of decode steps as graphs, by the number of rows that they have
// blocks for. Blocks without a row end at once. A graph is captured when a step needs it.
type graphs struct{ byRows map[int]*driver.Exec }

// graphRows is the size of the graph that can compute the step; 0: none can.
func (s *step) graphRows() int {
	if s.model.options.NoGraphs || s.prompt || !s.alone || s.keeps > 0 || len(s.tiles) > 1 {
		return 0
	}
	return graphSize(len(s.tokenID), s.model.pool.tile)
}

// graphSizes is how many results graphSize has.
const graphSizes = 4 + (64-8)/8 + (256-64)/16

// graphSize rounds a number of rows up, so that there are few graphs and few idle blocks: to
// a power of two up to 8, then to a multiple of 8 up to 64, then of 16.
func graphSize(rows, most int) int {
	size := 1
	switch {
	case rows > most:
		return 0
	case rows > 64:
		size = ceilDiv(rows, 16) * 16
	case rows > 8:
		size = ceilDiv(rows, 8) * 8
	default:
		for size < rows {
			size *= 2
		}
	}
	return min(size, most)
}

// launch runs a step's kernels as a graph. If none can be made, because the driver refuses to
// or has no memory for it, steps of this size go on kernel by kernel.
func (g *graphs) launch(s *step, rows int) error {
	exec, tried := g.byRows[rows]
	if !tried {
		var err error
		if exec, err = capture(s, rows); sticky(err) {
			return err
		}
		if g.byRows == nil {
			g.byRows = map[int]*driver.Exec{}
		}
		g.byRows[rows] = exec
	}
	if exec != nil {
		err := s.model.stream.LaunchGraph(exec)
		if !errors.Is(err, driver.ErrMemory) { // which the first launch may need
			return err
		}
		g.byRows[rows] = nil
		if err := exec.Close(); err != nil {
			return err
		}
	}
	return s.compute()
}

// capture makes a graph for some rows. Everything that differs between steps is in the
// header, whose address is fixed.
func capture(s *step, rows int) (_ *driver.Exec, err error) {
	m := s.model
	if err := m.stream.BeginCapture(); err != nil {
		return nil, err
	}
	err = contained(func() error {
		if err := s.body(rows); err != nil {
			return err
		}
		return s.tail(0, rows, rows, rows)
	})
	graph, ended := m.stream.EndCapture() // also after a failure, or the stream captures for ever
	if err = errors.Join(err, ended); err != nil {
		return nil, errors.Join(err, graph.Close())
	}
	exec, err := graph.Instantiate()
	if err = errors.Join(err, graph.Close()); err != nil {
		return nil, errors.Join(err, exec.Close())
	}
	return exec, nil
}

func (g *graphs) free() error {
	var errs []error
	for _, exec := range g.byRows {
		errs = append(errs, exec.Close())
	}
	g.byRows = nil
	return errors.Join(errs...)
}
