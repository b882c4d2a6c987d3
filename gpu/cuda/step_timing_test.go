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
// real driver takes for each launch.
func BenchmarkHostOfAStep(b *testing.B) {
	d, err := cuda.New(cuda.Options{Library: idle(b)})
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
	step := &gpu.StepBatch{Work: make([]gpu.RowWork, rows)}
	grown := make([]gpu.RowGrown, rows)
	for i := range rows {
		id := gpu.Row(i)
		first.Opened = append(first.Opened, gpu.RowOpened{Row: id, Prompt: prompt, Pages: slices.Repeat([]int32{1}, context/page), Sampling: gputest.Plain()})
		grown[i] = gpu.RowGrown{Row: id, Pages: []int32{2}}
		step.Work[i] = gpu.RowWork{Row: id, Start: context, Count: 1, Sample: 1}
	}
	done := make(chan error)
	end := func(_ *gpu.StepResult, err error) { done <- err }
	run := func(batch *gpu.StepBatch) {
		m.Submit(batch, end)
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
	open := func() {
		first.Reset = true
		run(first)
		for i := range step.Work {
			step.Work[i].Start = context
		}
	}
	open()
	b.ReportAllocs()
	at := context
	for b.Loop() {
		if at == context+1024 {
			b.StopTimer()
			open()
			at = context
			b.StartTimer()
		}
		step.Grown = nil
		if at%page == 0 {
			step.Grown = grown
		}
		run(step)
		for i := range step.Work {
			step.Work[i].Start++
		}
		at++
	}
}
