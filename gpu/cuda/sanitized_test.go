//go:build cuda

package cuda_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cuda"
	"github.com/troupe-engine/troupe/testkit/cudaemu"
	"github.com/troupe-engine/troupe/testkit/gputest"
)

// sanitizedLibrary names the driver that TestSmallSteps uses in a process of
// TestSanitizedSteps.
const sanitizedLibrary = "CUDA_TEST_LIBRARY"

// digestMark begins the line with the digest of all results of TestSmallSteps.
const digestMark = "the results are "

// Steps of a small random model over pools of bf16 and int8: a prompt, rows of one and of
// several tokens together, decoding and a graph, in contexts whose segments several blocks share. With
// go test -race it shows that nothing of the device races on the host.
func TestSmallSteps(t *testing.T) {
	o := cuda.Options{Library: os.Getenv(sanitizedLibrary)}
	if o.Library == "" {
		_, o.Library = faking(t)
	}
	d, err := cuda.New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	digest := sha256.New()
	for seed, width := range []int{136, 16} {
		for _, kv := range []gpu.DType{gpu.BF16, gpu.I8} {
			smallSteps(t, d, uint64(seed), width, kv, digest)
		}
	}
	t.Log(digestMark + hex.EncodeToString(digest.Sum(nil)))
}

func smallSteps(t *testing.T, d gpu.Device, seed uint64, width int, kv gpu.DType, digest hash.Hash) {
	const page = 64
	r := rand.New(rand.NewPCG(seed, 40))
	s := gputest.Shape{Name: fmt.Sprint("small-", width), Vocab: 20 + r.IntN(20), Hidden: 8 * (2 + r.IntN(2)), Layers: 1, KVHeads: 1,
		HeadDim: width, Heads: 1 + r.IntN(2), Intermediate: 8 * (65 + r.IntN(3)), Context: 4096, Bias: true, QKNorm: true, Tied: true, DType: gpu.BF16}
	p, w := gputest.Build(s, seed)
	m, err := gputest.Load(d, p, w, gpu.PoolSpec{PageSize: page, Pages: 8, DType: kv, Rows: 4, StepTokens: 80})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	tokens := make([]int32, s.Context)
	for i := range tokens {
		tokens[i] = r.Int32N(int32(s.Vocab - 1))
	}
	// row begins in a long context: its pages are the first one, again and again.
	row := func(id gpu.Row, cached, count int) gputest.Part {
		return gputest.Part{Open: &gpu.RowOpened{Prompt: tokens[:cached*page+count], Pages: slices.Repeat([]int32{1}, cached), Sampling: gputest.Plain()},
			Grow: []int32{int32(id) + 1}, RowWork: gpu.RowWork{Row: id, Start: cached * page, Count: count, Sample: 1, KeepLogits: true}}
	}
	far := 2*512/page + 1 // pages in front of a row, into a third segment
	drawn := row(3, 0, 3)
	drawn.Open.Sampling = gpu.Sampling{Temperature: 0.9, TopP: 0.9, MinP: 0.01, TopK: 12, RepetitionPenalty: 1.2, FrequencyPenalty: 0.3, TopLogprobs: 2, Seed: 5}
	more := func(id gpu.Row, at int) gputest.Part {
		return gputest.Part{RowWork: gpu.RowWork{Row: id, Start: at, Count: 1, Sample: 1, KeepLogits: true}}
	}
	graph := []gputest.Part{more(1, far*page+2), more(2, (far-1)*page+6), more(3, 4)} // of four rows
	for i := range graph {
		graph[i].KeepLogits = false
	}
	for _, parts := range [][]gputest.Part{
		{row(0, 0, page)},
		{row(1, far, 1), row(2, far-1, 5), drawn},
		{more(1, far*page+1), more(2, (far-1)*page+5), more(3, 3)},
		graph,
	} {
		results, err := gputest.Step(m, parts...)
		if err != nil {
			t.Fatal(err)
		}
		for _, result := range results {
			for _, logits := range result.Logits {
				for _, x := range logits {
					if math.IsNaN(float64(x)) {
						t.Fatal("a logit is not a number")
					}
				}
				if err := binary.Write(digest, binary.LittleEndian, logits); err != nil {
					t.Fatal(err)
				}
			}
			fmt.Fprint(digest, result.Tokens, result.Logprobs)
		}
	}
}

// The small steps with the emulation's detection of races, and with TROUPE_CUDA_SANITIZE=1
// also under AddressSanitizer and UBSan, have the same results as without.
func TestSanitizedSteps(t *testing.T) {
	list := []cudaemu.Options{{}, {Sanitizer: cudaemu.Races}}
	if os.Getenv("TROUPE_CUDA_SANITIZE") != "" {
		// Without optimisation the kernels compile in 18 seconds instead of 44.
		list = append(list, cudaemu.Options{Sanitizer: cudaemu.Address, Flags: []string{"-O0"}})
	}
	want := ""
	for _, o := range list {
		t.Run("sanitizer "+string(o.Sanitizer), func(t *testing.T) {
			library, err := cudaemu.Build("kernels", o)
			if err != nil {
				t.Fatal(err)
			}
			preload, err := cudaemu.Preload(o)
			if err != nil {
				t.Fatal(err)
			}
			c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSmallSteps$", "-test.v")
			c.Env = append(append(os.Environ(), cudaemu.SanitizerEnvironment()...), sanitizedLibrary+"="+library, "LD_PRELOAD="+preload)
			out, err := c.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			_, got, _ := strings.Cut(string(out), digestMark)
			got, _, _ = strings.Cut(got, "\n")
			if want == "" {
				want = got
			}
			if got == "" || got != want {
				t.Errorf("the results are %q, without a sanitizer %q:\n%s", got, want, out)
			}
		})
	}
}
