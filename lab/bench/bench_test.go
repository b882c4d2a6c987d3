package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/testkit/golden"
)

// paced takes a time that follows from the test: a millisecond per token, a tenth
// more with each repetition.
type paced struct {
	prepared []string
	done     []int
	fail     map[string]int // the repetition of a test that fails
}

func (p *paced) Prepare(_ context.Context, t Test) error {
	p.prepared = append(p.prepared, t.String())
	return nil
}

func (p *paced) Once(ctx context.Context, t Test, repetition int) (Sample, error) {
	if n, ok := p.fail[t.String()]; ok && n == repetition {
		return Sample{}, errors.New("the device is tired")
	}
	p.done = append(p.done, repetition)
	took := time.Duration(t.Tokens()) * time.Millisecond
	took += took * time.Duration(repetition) / 10
	s := Sample{Tokens: t.Tokens(), Took: took, Steps: max(1, t.Generate), Positions: 10 * int64(t.Tokens())}
	if t.Generate > 0 {
		for i := range 100 {
			s.Delays = append(s.Delays, Delay{Message: time.Duration(i+1) * time.Microsecond, Timer: time.Duration(i+1) * 10 * time.Microsecond})
		}
	}
	return s, ctx.Err()
}

func plan(tests ...Test) Plan {
	return Plan{Tests: tests, Repetitions: 3, Warmup: 1, Threads: 2, Traffic: Traffic{WeightBytes: 4_000_000, KVBytes: 1000}, Bandwidth: func() float64 { return 5e9 }}
}

func goldenReport(t *testing.T) *Report {
	t.Helper()
	tests, err := Matrix{Prompts: []int{512, 0}, Generates: []int{128}, Batches: []int{1, 8}, Depths: []int{0, 4096}}.Tests()
	if err != nil {
		t.Fatal(err)
	}
	results, err := Run(t.Context(), &paced{}, plan(tests...))
	if err != nil {
		t.Fatal(err)
	}
	return &Report{
		Machine: Machine{CPU: "A Processor", Cores: 2, GOMAXPROCS: 2, MemoryBytes: 24 << 30, CacheBytes: 1 << 20, InstructionSet: "avx512", OS: "linux", Arch: "amd64", Go: "go1.26.8", Version: "v1.2.3", Commit: "abc"},
		Model:   Model{Name: "qwen2.5-0.5b", Architecture: "Qwen2ForCausalLM", Parameters: 494_032_768, Bytes: 525 << 20, WeightDType: "q8_0", KVDType: "bf16", Activations: "int8", Random: true},
		Setup:   Setup{Through: "engine", Repetitions: 3, Warmup: 1, Seed: 1, ReadBytes: 1536 << 20, Chunk: 2048, Flags: map[string]string{"depth": "[0,4096]"}},
		Results: results, Notes: []string{"a note"},
	}
}

func TestTableAndJSON(t *testing.T) {
	p := goldenReport(t)
	var text bytes.Buffer
	if err := p.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "report.txt", text.String())
	p.Results = p.Results[1:2] // one result shows the form
	j, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "report.json", string(j)+"\n")
}

// Of a GPU the report has its name and memory, and neither threads nor bandwidth.
func TestTableOfAGPU(t *testing.T) {
	p := goldenReport(t)
	run := plan(Test{Prompt: 512}, Test{Generate: 128, Batch: 8})
	run.Threads, run.Traffic, run.Bandwidth = 0, Traffic{}, nil
	results, err := Run(t.Context(), &paced{}, run)
	if err != nil {
		t.Fatal(err)
	}
	p.Results, p.Setup.ReadBytes, p.Machine.GPU, p.Machine.GPUBytes, p.Model.Activations = results, 0, "NVIDIA H200 (cuda:0)", 140<<30, "bf16"
	var text bytes.Buffer
	if err := p.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "gpu.txt", text.String())
	if _, err := json.Marshal(p); err != nil {
		t.Error(err)
	}
}

func TestTestsAreAllCombinations(t *testing.T) {
	tests, err := Matrix{Prompts: []int{0, 16}, Generates: []int{8}, Batches: []int{1, 4}, Depths: []int{0, 32}}.Tests()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, x := range tests {
		names = append(names, x.String())
	}
	want := []string{"pp16", "tg8", "tg8 x4", "pp16 @ d32", "tg8 @ d32", "tg8 x4 @ d32"}
	if !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	if n := (Test{Generate: 8, Batch: 4, Depth: 32}); n.Tokens() != 32 || n.Positions() != 40 {
		t.Errorf("%d tokens at %d positions", n.Tokens(), n.Positions())
	}
}

func TestMatricesThatAreRefused(t *testing.T) {
	good := Matrix{Prompts: []int{16}, Generates: []int{8}, Batches: []int{1}, Depths: []int{0}}
	for want, change := range map[string]func(*Matrix){
		"--prompt has -1":                func(m *Matrix) { m.Prompts = []int{4, -1} },
		"--generate has -2":              func(m *Matrix) { m.Generates = []int{-2} },
		"--depth has 16777217":           func(m *Matrix) { m.Depths = []int{maxTokens + 1} },
		"--batch has 0; each entry must": func(m *Matrix) { m.Batches = []int{0} },
		"--batch is empty":               func(m *Matrix) { m.Batches = nil },
		"nothing to measure":             func(m *Matrix) { m.Prompts, m.Generates = []int{0}, []int{0} },
	} {
		m := good
		change(&m)
		if tests, err := m.Tests(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v gives %v, %v; want %q", m, tests, err, want)
		}
	}
}

func TestLimits(t *testing.T) {
	l := Limits{Context: 256, Pool: 512, Running: 4, PageSize: 16}
	for _, c := range []struct {
		test Test
		want string
	}{
		{Test{Prompt: 256, Batch: 1}, ""},
		{Test{Prompt: 256, Batch: 1, Depth: 1}, "a context of 257 tokens, but the model has 256"},
		{Test{Generate: 255, Batch: 1}, ""},
		{Test{Generate: 256, Batch: 1}, "a context of 257"},
		{Test{Generate: 120, Batch: 4}, ""},
		{Test{Generate: 121, Batch: 4}, "a KV pool of 576 tokens, but it has 512"},
		{Test{Generate: 8, Batch: 5}, "5 sequences at the same time, but only 4 may run"},
	} {
		if err := l.Check(c.test); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.test, err, c.want)
		}
	}
}

func TestWarmUpDoesNotCount(t *testing.T) {
	s := &paced{}
	results, err := Run(t.Context(), s, plan(Test{Prompt: 100, Batch: 1}))
	if err != nil || len(results) != 1 {
		t.Fatal(results, err)
	}
	if !slices.Equal(s.done, []int{0, 1, 2, 3}) || len(results[0].Samples) != 3 || !slices.Equal(s.prepared, []string{"pp100"}) {
		t.Errorf("did %v after preparing %q, %d samples", s.done, s.prepared, len(results[0].Samples))
	}
	// Repetition 2 takes 120 ms; it reads 4 MB of weights and 1 MB of K and V.
	r := results[0]
	if got := r.TokensPerSecond.Median; got < 833 || got > 834 {
		t.Errorf("median of %v tokens/s", got)
	}
	if got := r.BytesPerSecond.Median; got < 41.6e6 || got > 41.7e6 || r.Share.Median != got/5e9 || r.BytesPerToken != 50_000 {
		t.Errorf("%v bytes/s, a share of %v, %v bytes a token", got, r.Share.Median, r.BytesPerToken)
	}
}

// Idle actors are probed during each repetition, also during one that fails.
func TestDelaysAreProbed(t *testing.T) {
	p, stopped := plan(Test{Prompt: 10, Batch: 1}), 0
	p.Probe = func() func() []Delay {
		return func() []Delay { stopped++; return []Delay{{1, 2}} }
	}
	results, err := Run(t.Context(), &paced{fail: map[string]int{"pp10": 3}}, p)
	if err == nil || len(results) != 1 || results[0].Delays == nil || results[0].Delays.Count != 2 || stopped != 3 {
		t.Errorf("%+v after %d probes, %v", results, stopped, err)
	}
}

func TestSharesAreOfTheBandwidthAroundThem(t *testing.T) {
	p, next := plan(Test{Prompt: 100, Batch: 1}), 0.0
	p.Warmup, p.Repetitions = 0, 1
	p.Bandwidth = func() float64 { next += 1e9; return next } // 1 GB/s before, 2 GB/s after
	results, err := Run(t.Context(), &paced{}, p)
	if err != nil {
		t.Fatal(err)
	}
	if r := results[0]; r.Share.Median != 50e6/1.5e9 || r.ReadBandwidth.Mean != 1.5e9 {
		t.Errorf("%+v of %+v", r.Share, r.ReadBandwidth)
	}
}

func TestAnInterruptLeavesWhatWasMeasured(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := plan(Test{Prompt: 10, Batch: 1}, Test{Generate: 10, Batch: 1}, Test{Generate: 20, Batch: 1})
	p.Progress = func(done, all int, _ Test) {
		if all != 12 {
			t.Errorf("%d repetitions in all", all)
		}
		if done == 7 { // the last one of the second test
			cancel()
		}
	}
	results, err := Run(ctx, &paced{}, p)
	if !errors.Is(err, context.Canceled) || len(results) != 2 || len(results[0].Samples) != 3 || len(results[1].Samples) != 2 {
		t.Errorf("%v, %+v", err, results)
	}
}

func TestAFailureNamesItsTest(t *testing.T) {
	s := &paced{fail: map[string]int{"tg10": 2}}
	results, err := Run(t.Context(), s, plan(Test{Prompt: 10, Batch: 1}, Test{Generate: 10, Batch: 1}))
	if err == nil || !strings.Contains(err.Error(), "test tg10: the device is tired") || len(results) != 2 || len(results[1].Samples) != 1 {
		t.Errorf("%v, %+v", err, results)
	}
}

func TestSummaries(t *testing.T) {
	if s := Summarise([]float64{4, 1, 3, 2}); s.Mean != 2.5 || s.Median != 2.5 || s.Min != 1 || s.Max != 4 || s.Std < 1.290 || s.Std > 1.291 {
		t.Errorf("%+v", s)
	}
	if s := Summarise([]float64{7}); s != (Summary{7, 0, 7, 7, 7}) {
		t.Errorf("%+v", s)
	}
	if s := Summarise(nil); s != (Summary{}) {
		t.Errorf("%+v", s)
	}
	if d := sumUp(nil); d != nil {
		t.Errorf("%+v", d)
	}
	one := sumUp([]Delay{{time.Millisecond, 2 * time.Millisecond}})
	if one.Message.P50 != 1 || one.Timer.P99 != 2 || one.Count != 1 {
		t.Errorf("%+v", one)
	}
}

func TestMachines(t *testing.T) {
	if got := modelName("processor\t: 0\nmodel name\t: A Processor @ 2 GHz\nmodel name\t: B\n", "x"); got != "A Processor @ 2 GHz" {
		t.Errorf("%q", got)
	}
	if got := modelName("Hardware: board\n", "arm64"); got != "arm64" {
		t.Errorf("%q", got)
	}
	for text, want := range map[string]int64{"2048K": 2 << 20, "260M": 260 << 20, "64": 64, "": 0, "-1K": 0, "xK": 0, "99999999999999G": 0} {
		if got := cacheSize(text); got != want {
			t.Errorf("%q is %d, want %d", text, got, want)
		}
	}
	m := ThisMachine("v1", "avx2", 1<<30)
	if m.CPU == "" || m.Cores < 1 || m.Go == "" || m.InstructionSet != "avx2" || m.Version != "v1" || m.MemoryBytes != 1<<30 {
		t.Errorf("%+v", m)
	}
}
