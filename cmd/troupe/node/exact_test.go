package node

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/lab/ggufwrite"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/testkit/racedetector"
)

// numbers are the varied parts of the numerics fingerprint: with equal ones, answers are
// bit-identical.
type numbers struct {
	level       simd.Level
	weights, kv string
}

// fingerprint is that of the answers: amx and avx512 have the same results.
func (n numbers) fingerprint() numbers {
	n.level = min(n.level, simd.AVX512)
	return n
}

// weightFiles are models by weight type. They have more columns than kernels process at
// once, so that sums are continued, and rows that are not a multiple of a panel. q4_k is a mix of q4_k and q6_k; in q6_k
// the rows of one matrix do not fill its blocks and are q8_0, for which level
// amx has other kernels.
func weightFiles(t *testing.T) (names []string, files map[string]string) {
	files = map[string]string{}
	for i, m := range []ggufwrite.Model{
		{Type: gpu.F32, Hidden: 256, Intermediate: 544, HeadDim: 48},
		{Type: gpu.BF16, Hidden: 256, Intermediate: 544, HeadDim: 48},
		{Type: gpu.Q8_0, Hidden: 544, Intermediate: 288, HeadDim: 48},
		{Type: gpu.Q4_0, Hidden: 544, Intermediate: 288, HeadDim: 48},
		{Type: gpu.Q4_K, Hidden: 256, Intermediate: 768, HeadDim: 64, Medium: true},
		{Type: gpu.Q6_K, Hidden: 256, Intermediate: 544, HeadDim: 64},
	} {
		m.Arch, m.Layers, m.Heads, m.KVHeads, m.Vocab, m.Context = "qwen2", 2, 4, 2, exactVocab, 512
		m.Tied, m.Seed = i%2 == 0, uint64(i)
		name := m.Type.String()
		names, files[name] = append(names, name), filepath.Join(t.TempDir(), name+".gguf")
		if err := ggufwrite.Create(files[name], m.File()); err != nil {
			t.Fatal(err)
		}
	}
	return names, files
}

const (
	exactVocab  = 333
	exactTokens = 8   // of each answer
	exactStart  = 80  // of the first prompt's log probabilities
	exactLeast  = 64  // rows of a step from which level amx takes tiles, at least
	exactRows   = 64  // of the batch
	exactCached = 64  // tokens of a prompt, at least
	exactTop    = 3   // tokens beside each
	exactChunk  = 512 // of the ways that do not have small ones
)

// serving is a way to serve requests: in chunks, on pages, in a batch, and then again
// from the cache.
type serving struct {
	name        string
	chunk, page int
	batch       bool
}

var servings = []serving{
	{"alone", exactChunk, 16, false},
	{"in a batch of 64", exactChunk, 16, true},
	{"in chunks of 7", 7, 1, false},
}

// TestEveryKernelIsExact: two requests, alone, in a batch of 64, in chunks of 7,
// and each of these again from the prefix cache, return the same tokens and
// bit-identical log probabilities, through the actors, at each level of the
// kernels, for any number of threads and every kind of weights. amx and avx512
// also agree.
//
// The plain test has every level with every kind of weights, each serving with
// another number of threads and the types of K and V in turn. TROUPE_SOAK=1 has
// all combinations.
func TestEveryKernelIsExact(t *testing.T) {
	names, files := weightFiles(t)
	levels := simd.Levels()
	if racedetector.Enabled { // only the interleavings count, and the detector sees no assembly
		names, levels = []string{"q8_0"}, levels[len(levels)-1:]
	}
	want := map[numbers][2][]uint32{}
	for _, level := range levels {
		for i, weights := range names {
			for j, kv := range []string{"bf16", "int8"} {
				// avx512 and amx have the same type.
				if !soak && (i+int(min(level, simd.AVX512)))%2 != j {
					continue
				}
				x := numbers{level, weights, kv}
				for k, s := range servings {
					for threads := 1; threads <= 3; threads++ {
						if soak || (i+k)%3 == threads-1 {
							t.Run(fmt.Sprintf("%s/%s/kv-%s/%s/%d", level, weights, kv, s.name, threads), func(t *testing.T) {
								s.check(t, x, files[weights], threads, want)
							})
						}
					}
				}
			}
		}
	}
}

// check serves the requests twice and compares both answers with those of the
// fingerprint, which the first serving sets.
func (s serving) check(t *testing.T, x numbers, file string, threads int, want map[numbers][2][]uint32) {
	c := settings(t)
	c.Model, c.CPU.InstructionSet, c.KVCacheDType, c.CPU.Threads = file, x.level.String(), x.kv, threads
	c.Batch.ChunkedPrefillSize, c.PageSize, c.Pool.MaxRunning = s.chunk, s.page, exactRows
	seen := &largest{}
	client := openExact(t, c, seen)
	compare := func(outs [2]*messages.CallOutput) {
		t.Helper()
		got := [2][]uint32{bitsOf(t, outs[0]), bitsOf(t, outs[1])}
		first, ok := want[x.fingerprint()]
		if !ok {
			want[x.fingerprint()] = got
			return
		}
		for i, out := range outs {
			if !slices.Equal(got[i], first[i]) {
				t.Errorf("request %d, %d tokens cached: bits differ from number %d on", i, out.Usage.CachedTokens, differ(got[i], first[i]))
			}
		}
	}
	requests := exactRequests()
	var outs [2]*messages.CallOutput
	if s.batch {
		copy(outs[:], client.call(t, append(requests[:], exactMates()...)))
	} else {
		outs = client.each(t, requests)
	}
	compare(outs)
	for i, out := range outs {
		if n := out.Usage.CachedTokens; n > 0 {
			t.Errorf("request %d came from the cache: %d tokens", i, n)
		}
	}
	seen.check(t, s)

	client.call(t, exactMates()[:1]) // what has ended enters the cache with the plan after it
	outs = client.each(t, requests)
	compare(outs)
	for i, out := range outs {
		if n := out.Usage.CachedTokens; n < exactCached {
			t.Errorf("request %d: %d tokens are cached, at least %d should be", i, n, exactCached)
		}
	}
}
