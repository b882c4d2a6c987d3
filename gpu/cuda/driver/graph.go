//go:build cuda && cgo && linux && amd64

package driver

// #include "library.h"
import "C"

import "fmt"

// Graph is work that a stream captured. It is a plan, and runs nothing; Instantiate makes
// what runs.
type Graph struct {
	handle
	graph C.CUgraph
}

// Exec is a graph that can be launched. Its launches run one after the other.
type Exec struct {
	handle
	exec C.CUgraphExec
}

// BeginCapture makes the stream collect what is added to it, instead of doing it, until
// EndCapture. Meanwhile this goroutine may not wait, ask, allocate or free, which would make
// EndCapture fail.
func (s *Stream) BeginCapture() error {
	if err := s.usable("cuStreamBeginCapture"); err != nil {
		return err
	}
	return s.code("cuStreamBeginCapture", C.cuStreamBeginCapture(streamHandle(s.stream), C.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL))
}

// EndCapture ends the capture, also if it fails, and returns what was collected. The
// caller closes the graph.
func (s *Stream) EndCapture() (*Graph, error) {
	if err := s.usable("cuStreamEndCapture"); err != nil {
		return nil, err
	}
	g := &Graph{}
	if err := s.code("cuStreamEndCapture", C.cuStreamEndCapture(streamHandle(s.stream), &g.graph)); err != nil {
		return nil, err
	}
	s.device.adopt(&g.handle, graphKind)
	return g, nil
}

// Instantiate makes what can be launched, which takes some memory of the device. The
// caller closes it. The graph may be closed before.
func (g *Graph) Instantiate() (*Exec, error) {
	if err := g.usable("cuGraphInstantiate"); err != nil {
		return nil, err
	}
	e := &Exec{}
	if err := g.code("cuGraphInstantiate", C.cuGraphInstantiateWithFlags(&e.exec, g.graph, 0)); err != nil {
		return nil, err
	}
	g.device.adopt(&e.handle, execKind)
	return e, nil
}

// Close frees the graph.
func (g *Graph) Close() error {
	if g == nil {
		return nil
	}
	return g.release("cuGraphDestroy", func() error { return errorOf(C.cuGraphDestroy(g.graph)) })
}

// LaunchGraph adds a run of the graph to the stream.
func (s *Stream) LaunchGraph(e *Exec) error {
	if err := s.onDevice("cuGraphLaunch", &e.handle); err != nil {
		return err
	}
	return s.code("cuGraphLaunch", C.cuGraphLaunch(e.exec, streamHandle(s.stream)))
}

// UploadGraph adds bringing the graph to the device, so that the first launch is as fast as
// the others.
func (s *Stream) UploadGraph(e *Exec) error {
	if err := s.onDevice("cuGraphUpload", &e.handle); err != nil {
		return err
	}
	return s.code("cuGraphUpload", C.cuGraphUpload(e.exec, streamHandle(s.stream)))
}

// Close frees the executable graph. A launch under way ends as usual.
func (e *Exec) Close() error {
	if e == nil {
		return nil
	}
	return e.release("cuGraphExecDestroy", func() error { return errorOf(C.cuGraphExecDestroy(e.exec)) })
}

// onDevice returns an error unless the stream and another thing are open and on one device.
func (s *Stream) onDevice(call string, h *handle) error {
	if err := s.usable(call); err != nil {
		return err
	}
	if err := h.usable(call); err != nil {
		return err
	}
	if h.device != s.device {
		return misuse(s.device.description.Ordinal, call, "the %s is on device %d", kindNames[h.kind], h.device.description.Ordinal)
	}
	return nil
}

// code turns a result of our own cgo into an error.
func (h *handle) code(call string, r C.CUresult) error {
	if r == C.CUDA_SUCCESS {
		return nil
	}
	return h.device.fail(int(r), call)
}

// result is a result of our own cgo as an error, as package cu has them.
type result int

func (r result) Error() string { return fmt.Sprintf("result %d", int(r)) }

func errorOf(r C.CUresult) error {
	if r == C.CUDA_SUCCESS {
		return nil
	}
	return result(r)
}
