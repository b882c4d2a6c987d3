//go:build cuda

package cuda_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cuda"
	"github.com/troupe-engine/troupe/gpu/cuda/driver"
	"github.com/troupe-engine/troupe/testkit/gputest"
)

// idle compiles a driver whose kernels do nothing. A process has one driver, so the
// benchmarks with it are skipped where tests have opened another one.
func idle(b *testing.B) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "libcuda.so.1")
	out, err := exec.CommandContext(b.Context(), "gcc", "-O2", "-shared", "-fPIC", "-I", "driver/include", "-o", path, "testdata/idle.c").CombinedOutput()
	if err != nil {
		b.Fatalf("gcc: %v\n%s", err, out)
	}
	if err := driver.Open(driver.Options{Library: path}); err != nil {
		b.Skip(err)
	}
	return path
}

// What a step of 256 decoding rows with contexts of 2,048 tokens costs the host, on pages of
// 64, for a model of 6 layers: from Submit to done, without the kernels and without what a
// real driver takes for each launch. With two steps in flight, as the engine has them, one
// begins while the other ends.
func BenchmarkHostOfAStep(b *testing.B) {
	library := idle(b)
	b.Run("alone", func(b *testing.B) { hostOfAStep(b, library, 1) })
	b.Run("two in flight", func(b *testing.B) { hostOfAStep(b, library, 2) })
}

func hostOfAStep(b *testing.B, library string, inFlight int) {
	d, err := cuda.New(cuda.Options{Library: library})
	if err != nil {
		b.Fatal(err)
	}
	const rows, context, page = 256, 2048, 64
	s := gputest.Shape{Name: "host", Vocab: 1280, Hidden: 192, Layers: 6, Heads: 6, KVHeads: 2, HeadDim: 32, Intermediate: 320, Context: 1 << 18, DType: gpu.BF16}
	p, w := gputest.Build(s, 1)
	m, err := gputest.Load(d, p, w, gpu.PoolSpec{PageSize: page, Pages: 64, DType: gpu.BF16, Rows: rows, Context: s.Context, StepTokens: rows})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := m.Close(); err != nil {
			b.Error(err)
		}
		if err := d.Close(); err != nil {
			b.Error(err)
		}
	}()
	prompt := make([]int32, context+1)
	first := &gpu.StepBatch{}
	steps := [2]gpu.StepBatch{{Work: make([]gpu.RowWork, rows)}, {Work: make([]gpu.RowWork, rows)}}
	grown := make([]gpu.RowGrown, rows)
	for i := range rows {
		id := gpu.Row(i)
		first.Opened = append(first.Opened, gpu.RowOpened{Row: id, Prompt: prompt, Pages: slices.Repeat([]int32{1}, context/page), Sampling: gputest.Plain()})
		grown[i] = gpu.RowGrown{Row: id, Pages: []int32{2}}
		for j := range steps {
			steps[j].Work[i] = gpu.RowWork{Row: id, Start: context, Count: 1, Sample: 1}
		}
	}
	done := make(chan error, inFlight)
	end := func(_ *gpu.StepResult, err error) { done <- err }
	flying := 0
	wait := func(most int) {
		for ; flying > most; flying-- {
			if err := <-done; err != nil {
				b.Fatal(err)
			}
		}
	}
	submit := func(batch *gpu.StepBatch) {
		m.Submit(batch, end)
		flying++
	}
	open := func() {
		wait(0)
		first.Reset = true
		submit(first)
		wait(0)
	}
	open()
	b.ReportAllocs()
	at := context
	for n := 0; b.Loop(); n++ {
		if at == context+1024 {
			b.StopTimer()
			open()
			at = context
			b.StartTimer()
		}
		wait(inFlight - 1)
		step := &steps[n%2]
		step.Grown = nil
		if at%page == 0 {
			step.Grown = grown
		}
		for i := range step.Work {
			step.Work[i].Start = at
		}
		submit(step)
		at++
	}
	wait(0)
}
