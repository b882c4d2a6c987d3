package bench

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/cmd/troupe/generate"
	"github.com/troupe-engine/troupe/lab/bench"
	"github.com/troupe-engine/troupe/lab/bench/kernels"
	"github.com/troupe-engine/troupe/lab/ggufwrite"
	"github.com/troupe-engine/troupe/testkit/commandline"
)

// measured runs `troupe bench model --json` with little work.
func measured(t *testing.T, args ...string) *bench.Report {
	t.Helper()
	out := mustRun(t, "", append([]string{"bench", "model", "--json", "--read-bytes", "4MiB", "--max-total-tokens", "2048", "--repetitions", "2"}, args...)...)
	p := &bench.Report{}
	if err := json.Unmarshal([]byte(out), p); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	return p
}

// Clients that stream from the server of this process.
func TestBenchModelThroughHTTP(t *testing.T) {
	// Enough tokens that a late client still runs beside the others.
	p := measured(t, "--through", "http", "--prompt", "0", "--generate", "300", "--depth", "0,600", "--batch", "2")
	if len(p.Results) != 2 || p.Setup.Through != "http" {
		t.Fatalf("%+v", p)
	}
	for _, r := range p.Results {
		if r.TokensPerSecond.Min <= 0 || r.Share.Median <= 0 || r.Delays == nil || r.KVBytesPerStep <= 0 {
			t.Errorf("%+v", r)
		}
	}
	if deep, flat := p.Results[1].KVBytesPerStep, p.Results[0].KVBytesPerStep; deep < 3*flat {
		t.Errorf("a step at depth 600 reads %v bytes of the cache, at 0 %v", deep, flat)
	}
}

func TestBenchModelMeasuresTheBundledModel(t *testing.T) {
	for _, through := range []string{"engine", "step"} {
		t.Run(through, func(t *testing.T) {
			p := measured(t, "--through", through, "--prompt", "40", "--generate", "12", "--depth", "0,48", "--batch", "1,3", "--threads", "1,2")
			var names []string
			for _, r := range p.Results {
				names = append(names, r.Test)
				if len(r.Samples) != 2 || r.TokensPerSecond.Min <= 0 || r.BytesPerSecond.Median <= 0 || r.Share.Median <= 0 || r.ReadBandwidth.Min <= 0 {
					t.Errorf("%+v", r)
				}
				if r.WeightBytesPerStep != p.Results[0].WeightBytesPerStep || float64(p.Model.Bytes) < r.WeightBytesPerStep || r.KVBytesPerStep <= 0 {
					t.Errorf("%s reads %v and %v bytes a step, weights are %d", r.Test, r.WeightBytesPerStep, r.KVBytesPerStep, p.Model.Bytes)
				}
				if r.Delays != nil && through == "step" {
					t.Errorf("bare steps have actors: %+v", r.Delays)
				}
			}
			one := []string{"pp40", "tg12", "tg12 x3", "pp40 @ d48", "tg12 @ d48", "tg12 x3 @ d48"}
			if !slices.Equal(names, append(one, one...)) || p.Results[0].Threads != 1 || p.Results[11].Threads != 2 {
				t.Errorf("%q", names)
			}
			// Three sequences read the weights once for three tokens.
			if alone, three := p.Results[1].BytesPerToken, p.Results[2].BytesPerToken; three > alone/2 {
				t.Errorf("%v bytes a token alone, %v with two others", alone, three)
			}
			if deep, flat := p.Results[4].KVBytesPerStep, p.Results[1].KVBytesPerStep; deep < 4*flat {
				t.Errorf("a step at depth 48 reads %v bytes of the cache, at 0 %v", deep, flat)
			}
			if p.Model.Name != "troupe-little" || p.Model.Random || p.Machine.InstructionSet == "" || p.Setup.Through != through || p.Setup.Flags["batch"] != "[1,3]" {
				t.Errorf("%+v %+v %+v", p.Model, p.Machine, p.Setup)
			}
		})
	}
}

func TestBenchModelMeasuresHowLateActorsAre(t *testing.T) {
	p := measured(t, "--prompt", "0", "--generate", "300", "--warmup", "0")
	if d := p.Results[0].Delays; d == nil || d.Count == 0 || d.Timer.P50 < d.Message.P50 || d.Timer.P99 < d.Timer.P50 || d.Message.Max < d.Message.P99 {
		t.Errorf("%+v", d)
	}
}

func TestBenchModelPrintsATable(t *testing.T) {
	// This note always appears; the one on caches only if the system reports its caches.
	out := mustRun(t, "", "bench", "model", "--prompt", "20", "--generate", "5", "--repetitions", "1", "--read-bytes", "4MiB", "--max-total-tokens", "1024",
		"--threads", strconv.Itoa(runtime.NumCPU()+1))
	for _, want := range []string{"machine   ", "model     troupe-little, 1.9 M parameters", "measured  through the engine's actors; 1 warm-up and 1 measured repetition;", "| troupe-little bf16 |", " pp20 ", " tg5 ", "note: ", "threads are more than the"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
}

// tinyShape adds a shape that is generated quickly.
func tinyShape(t *testing.T) {
	ggufwrite.Shapes["tiny"] = ggufwrite.Model{Arch: "qwen3", Layers: 2, Hidden: 64, Intermediate: 96, Heads: 4, KVHeads: 2, HeadDim: 32, Vocab: 600, Context: 128, Tied: true}
	t.Cleanup(func() { delete(ggufwrite.Shapes, "tiny") })
}

func TestBenchModelMakesShapes(t *testing.T) {
	tinyShape(t)
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	for _, dtype := range []string{"q4_0", "q8_0", "bf16", "f32", "auto"} {
		for _, through := range []string{"engine", "step"} {
			p := measured(t, "--shape", "tiny", "--weight-dtype", dtype, "--prompt", "20", "--generate", "3", "--through", through)
			want, activations := dtype, "f32"
			if dtype == "auto" {
				want = "bf16"
			}
			if strings.HasPrefix(dtype, "q") {
				activations = "int8"
			}
			m := p.Model
			if m.Name != "tiny" || m.Architecture != "Qwen3ForCausalLM" || m.WeightDType != want || m.Activations != activations || !m.Random || m.Path != "" || len(p.Results) != 2 {
				t.Errorf("%s by %s: %+v", dtype, through, m)
			}
		}
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("%v are left: %v", left, err)
	}
}

// The other engine of a comparison reads the same file.
func TestBenchModelWritesAModel(t *testing.T) {
	tinyShape(t)
	path := filepath.Join(t.TempDir(), "random.gguf")
	p := measured(t, "--shape", "tiny", "--weight-dtype", "q4_0", "--write-gguf", path, "--prompt", "4", "--generate", "2")
	again := measured(t, "--model", path, "--prompt", "4", "--generate", "2")
	if p.Model.Path != path || !p.Model.Random || p.Model.WeightDType != "q4_0" || again.Model.Random || p.Model.Bytes != again.Model.Bytes || again.Model.WeightDType != "q4_0" {
		t.Errorf("%+v and %+v", p.Model, again.Model)
	}
	if _, err := run(t, "", "bench", "model", "--shape", "tiny", "--write-gguf", path); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("a file that is there: %v", err)
	}
	if out := commandline.MustRun(t, cli.Root("test", generate.New()), "", "generate", "--model", path, "--prompt", "a", "--max-tokens", "3", "--json"); !strings.Contains(out, `"completion_tokens": 3`) {
		t.Error(out)
	}
}

// --shape-type is the type in the file, --weight-dtype the type in memory.
func TestBenchModelOfAStoredType(t *testing.T) {
	tinyShape(t)
	type held struct {
		dtype string
		in    string
		bytes int64
	}
	of := func(args ...string) held {
		m := measured(t, append([]string{"--shape", "tiny", "--prompt", "4", "--generate", "2"}, args...)...).Model
		return held{m.WeightDType, m.HeldDType, m.Bytes}
	}
	small, wide := of("--shape-type", "q4_1"), of("--shape-type", "q4_1", "--weight-dtype", "q8_0")
	if other := of("--shape-type", "iq4_nl"); other.dtype != "iq4_nl" || other.in != "q8_0" || other.bytes != wide.bytes {
		t.Errorf("a type without a kernel: %+v", other)
	}
	if small.dtype != "q4_1" || small.in != "" || wide.in != "" || wide.bytes <= small.bytes || wide.bytes != of("--weight-dtype", "q8_0").bytes {
		t.Errorf("stored %+v, held as q8_0 %+v", small, wide)
	}
}

// Not every width is a multiple of 256; the report names the types used instead.
func TestBenchModelNamesReplacedTypes(t *testing.T) {
	tinyShape(t)
	for _, kind := range []string{"q4_k_m", "q5_k", "q8_0"} {
		report := measured(t, "--shape", "tiny", "--shape-type", kind, "--prompt", "4", "--generate", "0")
		if kind == "q8_0" {
			if report.Model.Replaced != nil || strings.Contains(strings.Join(report.Notes, ""), "requested type") {
				t.Errorf("%+v, %q: every matrix is q8_0", report.Model.Replaced, report.Notes)
			}
			continue
		}
		matrices := 0
		for _, r := range report.Model.Replaced {
			if r.Columns%r.Block == 0 || r.Wanted == r.Stored || len(r.Tensors) == 0 {
				t.Errorf("%s: %+v", kind, r)
			}
			matrices += r.Count
		}
		all := strings.Join(report.Notes, "\n")
		for _, want := range []string{"some matrices do not have the requested type", "blk.*.attn_q.weight", "not a multiple of its block size 256"} {
			if !strings.Contains(all, want) {
				t.Errorf("%s: notes %q lack %q", kind, report.Notes, want)
			}
		}
		if matrices == 0 {
			t.Errorf("%s: nothing is replaced", kind)
		}
	}
}

func TestBenchModelRefuses(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none.gguf")
	for want, args := range map[string][]string{
		"--batch has 0; each entry must be between 1": {"--batch", "0"},
		"--prompt has -1": {"--prompt=-1"},
		"--depth is \"x\"; it must be whole numbers separated by commas": {"--depth", "x"},
		"--threads has 0; each entry must be at least 1":                 {"--threads", "0,1"},
		"threads is 2000; it must be between 1 and 1024":                 {"--threads", "2000"},
		"--repetitions is 0":                                            {"--repetitions", "0"},
		"--through is \"tcp\"; use engine, step or http":                {"--through", "tcp"},
		"--through http measures only generation; use --prompt 0":       {"--through", "http"},
		"--read-bytes: \"lots\" is not an amount of memory":             {"--read-bytes", "lots"},
		"it must be between 524288 and":                                 {"--read-bytes", "100"},
		"there is nothing to measure":                                   {"--prompt", "0", "--generate", "0"},
		"--shape is \"gpt-9\"; use one of llama-1b":                     {"--shape", "gpt-9"},
		"cannot be used together; remove one of them":                   {"--shape", "llama-1b", "--model-path", missing},
		"weight-dtype is \"q9\"; it must be auto":                       {"--shape", "llama-1b", "--weight-dtype", "q9"},
		"--shape-type is \"q4_2\"; use one of q4_k_m":                   {"--shape", "llama-1b", "--shape-type", "q4_2"},
		"--write-gguf requires --shape":                                 {"--write-gguf", missing},
		"the name must end in .gguf":                                    {"--shape", "llama-1b", "--write-gguf", "model.bin"},
		"none.gguf: no such file":                                       {"--model-path", missing},
		"requires a context of 100":                                     {"--prompt", "100000"},
		"test pp512 @ d600 requires a context of 1112 tokens":           {"--depth", "600", "--through", "step"},
		"5 sequences at the same time, but only 4 may run":              {"--batch", "5", "--max-running-requests", "4"},
		"which --disable-radix-cache disables":                          {"--depth", "16", "--disable-radix-cache"},
		"unknown flag: --promt; did you mean --prompt?":                 {"--promt", "1"},
		"requires a KV pool of 704 tokens, but it has 512; raise --mem": {"--prompt", "0", "--generate", "30", "--depth", "128", "--batch", "4", "--max-total-tokens", "512"},
	} {
		args = append([]string{"bench", "model", "--repetitions", "1", "--read-bytes", "1MiB"}, args...)
		if out, err := run(t, "", args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q\n%s", args, err, want, out)
		}
	}
}

func TestBenchKernels(t *testing.T) {
	args := []string{"bench", "kernels", "--level", "portable", "--tokens", "2", "--rounds", "1", "--round-time", "1us", "--read-bytes", "16MiB"}
	p := &kernels.Report{}
	if err := json.Unmarshal([]byte(mustRun(t, "", append(args, "--json")...)), p); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, r := range p.Results {
		kinds[r.Kernel]++
	}
	if kinds["gemm"] != 8 || kinds["integer gemm"] != 5 || kinds["attention decode"] != 1 || kinds["rmsnorm"] != 1 || p.ReadBytes != 16<<20 || p.Machine.Go == "" {
		t.Errorf("%v, %+v", kinds, p.Machine)
	}
	if out := mustRun(t, "", append(args, "--kernel", "gemm", "--form", "q8")...); !strings.Contains(out, "| portable | gemm   | q8   |  2 |") {
		t.Error(out)
	}
	for want, more := range map[string][]string{
		"--level: ":                                 {"--level", "sse9"},
		"--rounds is 0":                             {"--rounds", "0"},
		"--round-time is 0s":                        {"--round-time", "0"},
		`kernel "gem" is not known`:                 {"--kernel", "gem"},
		"--tokens has 0":                            {"--tokens", "0"},
		"no kernel matches":                         {"--kernel", "integer", "--form", "f32"},
		"too small for a matrix [560, 1536] of f32": {"--read-bytes", "1MiB"},
		"--read-bytes: \"1 pint\" is not an amount": {"--read-bytes", "1 pint"},
	} {
		if _, err := run(t, "", append(slices.Clone(args), more...)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", more, err, want)
		}
	}
}
