package cpu

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/model/blob"
)

// file is a mapped file of matrices.
type file struct {
	blob.Blob
	program *gpu.Program
	rows    int
	cols    int
}

func (f file) Describe(name string) (gpu.Tensor, error) {
	return gpu.Tensor{Name: name, DType: gpu.BF16, Shape: []int{f.rows, f.cols}}, nil
}

func (f file) Tensor(name string) (gpu.Tensor, error) {
	t, _ := f.Describe(name)
	var i int64
	if _, err := fmt.Sscanf(name, "matrix %d", &i); err != nil {
		return t, err
	}
	n := int64(2 * f.rows * f.cols)
	data, err := f.Bytes(i*n, n)
	t.Data = data
	return t, err
}

func (f file) Discard(data []byte) {
	if d, is := f.Blob.(blob.Discarder); is {
		d.Discard(data)
	}
}

// resident is the memory of this process in bytes, including pages of files.
func resident(t *testing.T) int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "VmRSS:")
	var kB int64
	if _, err := fmt.Sscanf(after, "%d kB", &kB); err != nil {
		t.Fatal(err)
	}
	return kB << 10
}

// The peak memory of loading is little more than the packed weights, including the
// mapped pages of the file.
func TestPeakMemoryOfLoading(t *testing.T) {
	const matrices, rows, cols = 12, 2048, 4096
	path := filepath.Join(t.TempDir(), "weights")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	chunk := make([]byte, 2*rows*cols)
	for i := range chunk {
		chunk[i] = byte(i*7) & 0x3f // finite
	}
	p := &gpu.Program{}
	for i := range matrices {
		if _, err := f.Write(chunk); err != nil {
			t.Fatal(err)
		}
		p.Weights = append(p.Weights, gpu.WeightSpec{Name: fmt.Sprintf("matrix %d", i), Shape: []int{rows, cols}})
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := blob.Open(os.DirFS(filepath.Dir(path)), "weights")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	runtime.GC()
	before, peak := resident(t), int64(0)
	w, err := loadWeights(p, file{b, p, rows, cols}, Options{Threads: 2}, func(int64, int64) { peak = max(peak, resident(t)) })
	if err != nil {
		t.Fatal(err)
	}
	defer w.free()
	packed := int64(len(w.arena))
	if packed != matrices*2*rows*cols {
		t.Errorf("%d bytes are packed", packed)
	}
	if grown := peak - before; grown < packed/2 || grown > packed+packed/10 {
		t.Errorf("loading took %d bytes at its peak for %d of panels", grown, packed)
	} else {
		t.Logf("%.1f %% of the panels", 100*float64(grown)/float64(packed))
	}
}
