package cpu

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/quant"
	"github.com/troupe-engine/troupe/testkit/gputest"
)

// streamed is a source that counts what is fetched and released.
type streamed struct {
	gputest.Tensors
	lock      sync.Mutex
	fetched   map[string]int
	discarded int
	held      int // tensors fetched and not wholly given back
	most      int
	left      map[string]int
	fail      string
}

func newStreamed(t gputest.Tensors) *streamed {
	return &streamed{Tensors: t, fetched: map[string]int{}, left: map[string]int{}}
}

func (s *streamed) Describe(name string) (gpu.Tensor, error) {
	t, err := s.Tensors.Tensor(name)
	t.Data = nil
	return t, err
}

func (s *streamed) Tensor(name string) (gpu.Tensor, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if name == s.fail {
		return gpu.Tensor{}, errors.New(name + " is unreadable")
	}
	t, err := s.Tensors.Tensor(name)
	s.fetched[name]++
	s.left[name] = len(t.Data)
	s.held++
	s.most = max(s.most, s.held)
	return t, err
}

func (s *streamed) Discard(data []byte) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.discarded += len(data)
	for name, t := range s.Tensors {
		if len(data) > 0 && len(t.Data) > 0 && within(t.Data, data) {
			if s.left[name] -= len(data); s.left[name] == 0 {
				s.held--
			}
		}
	}
}

// within reports whether part is a part of all, by address.
func within(all, part []byte) bool {
	for i := range all {
		if &all[i] == &part[0] {
			return true
		}
	}
	return false
}

func TestLoadingStreams(t *testing.T) {
	p, w := gputest.Build(wide, 1)
	s := newStreamed(w)
	const threads = 3
	var last int64
	got, err := loadWeights(p, s, Options{Threads: threads}, func(done, total int64) {
		if done < last || done > total {
			t.Errorf("%d of %d bytes after %d", done, total, last)
		}
		last = done
	})
	if err != nil {
		t.Fatal(err)
	}
	defer got.free()
	all := 0
	for name, x := range w {
		all += len(x.Data)
		if s.fetched[name] != 1 {
			t.Errorf("%s was fetched %d times", name, s.fetched[name])
		}
	}
	if s.discarded != all || last != int64(all) || s.held != 0 {
		t.Errorf("of %d bytes %d were released and %d reported, %d tensors are held", all, s.discarded, last, s.held)
	}
	if s.most > threads {
		t.Errorf("%d tensors were held at once by %d workers", s.most, threads)
	}
	plain, err := loadWeights(p, w, Options{Threads: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.free()
	for i := range got.all {
		a, b := &got.all[i], &plain.all[i]
		if !bytes.Equal(a.panels, b.panels) || len(a.f32) != len(b.f32) {
			t.Errorf("%s is packed in two ways", p.Weights[i].Name)
		}
	}
}

// A matrix packed by several jobs has every row.
func TestRowsOfPackedMatrices(t *testing.T) {
	p, w := gputest.Build(wide, 1)
	got, err := loadWeights(p, w, Options{Threads: 3, jobBytes: 10_000}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer got.free()
	for i, s := range p.Weights {
		m := &got.all[i]
		if len(s.Shape) != 2 {
			continue
		}
		want, row := make([]float32, m.rows*m.cols), make([]float32, m.cols)
		quant.Dequantize(w[s.Name].DType, want, w[s.Name].Data)
		for r := range m.rows {
			m.row(r, row)
			for c, x := range row {
				if y := want[r*m.cols+c]; x != y && (x == x || y == y) {
					t.Fatalf("%s, row %d, column %d: %v, want %v", s.Name, r, c, x, y)
				}
			}
		}
	}
}

func TestLoadingFailsWithTheTensor(t *testing.T) {
	p, w := gputest.Build(wide, 1)
	const name = "layer.1.up"
	s := newStreamed(w)
	s.fail = name
	if _, err := loadWeights(p, s, Options{Threads: 2}, nil); err == nil || !strings.Contains(err.Error(), name+" is unreadable") {
		t.Errorf("a tensor that cannot be read: %v", err)
	}
	for what, change := range map[string]func(*gpu.Tensor){
		"cut short": func(x *gpu.Tensor) { x.Data = x.Data[1:] },
		"turned":    func(x *gpu.Tensor) { x.Shape = []int{x.Shape[1], x.Shape[0]} },
		"of q6_k":   func(x *gpu.Tensor) { x.DType = gpu.Q6_K },
	} {
		bad := gputest.Tensors{}
		for n, x := range w {
			if n == name {
				change(&x)
			}
			bad[n] = x
		}
		for _, source := range []gpu.Weights{bad, newStreamed(bad)} {
			if _, err := loadWeights(p, source, Options{Threads: 2}, nil); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("a tensor %s: %v", what, err)
			}
		}
	}
}

// Loading fails with the first weight in the program's order that is not finite, whichever
// worker finds one first, and starts no job after that.
func TestLoadingEndsWithTheFirstBadWeight(t *testing.T) {
	p, w := gputest.Build(wide, 1)
	first, last := p.Weights[3].Name, p.Weights[len(p.Weights)-1].Name
	for _, name := range []string{first, last} {
		x := w[name]
		x.Data = bytes.Clone(x.Data)
		copy(x.Data[2*7:], []byte{0x80, 0x7f})
		w[name] = x
	}
	for threads := range 8 {
		s := newStreamed(w)
		_, err := loadWeights(p, s, Options{Threads: threads + 1, jobBytes: 10_000}, nil)
		if err == nil || !strings.Contains(err.Error(), "tensor "+first+": row 0, column 7 is +Inf") || strings.Contains(err.Error(), last) {
			t.Errorf("%d threads: %v", threads+1, err)
		}
		if most := 4 + threads + 1; threads == 0 && len(s.fetched) > most {
			t.Errorf("%d tensors were fetched, at most %d are needed", len(s.fetched), most)
		}
	}
}
