package sampletest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/testkit/cudaemu"
)

// mutant is a change of a source that the twin must notice, or a reason why it cannot.
type mutant struct {
	file, old, new string
	at             int    // which occurrence of old changes, from 0 on
	equivalent     string // why results stay the same
}

var (
	list = "sampling_list.cuh"
	sum  = "sampling_sum.cuh"
	one  = "sampling.cuh"
	all  = "sampling.cu"
)

const noBarrier = "(void)0;"

// Barriers are added by barriers.
var mutants = []mutant{
	// Order of candidates.
	{list, "k == key && i <= last", "k == key && i >= last", 0, ""},
	{list, "k == key && i <= last", "k == key", 0, ""},
	{list, "k == key && i <= last", "k == key && i < last", 0, ""},
	{list, "bits_of(fadd(x, 0.0f))", "bits_of(x)", 0, ""},
	{list, "if (x != x) return 0;", "", 0, ""},
	{list, "nan |= x != x;", "", 0, ""},
	{list, "value_of(nan ? 0 : high)", "value_of(high)", 0, ""},
	{list, "int32_t(b) < 0 ? ~b : b | 0x80000000", "b", 0, ""},
	{list, "uint32_t(~first);", "uint32_t(first);", 0, ""},
	{list, "x > highest || first", "x >= highest || first", 0, ""},
	{list, "x > highest || first < 0", "x > highest", 0, ""},
	{list, "lowest = x < lowest ? x : lowest;", "lowest = x > lowest ? x : lowest;", 0, ""},
	{all, "(l.id ? l.id[i] : i) < id", "(l.id ? l.id[i] : i) > id", 0, ""},
	{all, "(l.id ? l.id[i] : i) < id", "i < mine", 0, "lists are in order of ids"},
	// Lists.
	{list, "from + 32 * j < n ? l.x", "from + 32 * j + 1 < n ? l.x", 0, ""},
	{list, "from + 32 * (BATCH - 1) < n", "from + 32 * (BATCH - 1) <= n", 0, ""},
	{list, "for (; from < n; from += 32) f", "for (; from + 1 < n; from += 32) f", 0, ""},
	{list, "any |= !(x[j] < least);", "any |= x[j] > least;", 0, ""},
	{list, "any |= !(v[j] < least);", "any |= v[j] > least;", 0, ""},
	{list, "UNROLL for (int j = 0; j < BATCH; j++) any |= !(x[j] < least);", "any |= !(x[0] < least);", 0, ""},
	{list, "smaller(part, n - skip)", "part", 0, ""},
	{list, "+ 31) / 32 * 32;", ") / 32 * 32;", 0, ""},
	{list, "(1u << lane()) - 1", "(2u << lane()) - 1", 0, ""},
	{list, "kept += __builtin_popcount(lanes);", "kept += stays;", 0, ""},
	{list, "lane() < int(blockDim.x / 32) ? ws.count[lane()] : 0", "lane() < int(blockDim.x / 32) - 1 ? ws.count[lane()] : 0", 0, ""},
	{list, "t[j] = i >= n ? -1", "t[j] = i > n ? -1", 0, ""},
	{list, "if (n <= 32) {", "if (n <= 33) {", 0, ""},
	{list, "lane() < n ? measure(l.x[i], id) : 0", "measure(l.x[i], id)", 0, ""},
	{list, "value_of(round == 0 ? low : key)", "value_of(key)", 0, "the key is below low in round 0, so fewer are left out"},
	{list, "parts = sums(ws, l, -INFINITE, measure);", "", 0, ""},
	// Selection.
	{list, "if (low) high += uint32_t(atomicAdd(&ws.bin[0][bin], low) + low) < low;", "if (low) atomicAdd(&ws.bin[0][bin], low);", 0, ""},
	{list, "high) + high) < high) atomicAdd", "high) + high) < 0) atomicAdd", 0, ""},
	{list, "bits > class_bits ? bits - class_bits : 0", "bits - class_bits + 1 > 0 ? bits - class_bits + 1 : 0", 0, "there are more rounds"},
	{list, "key >= low && key <= high", "key > low && key <= high", 0, ""},
	{list, "key >= low && key <= high", "key >= low && key < high", 0, ""},
	{list, "key >= low && key <= high", "key >= low", 0, ""},
	{list, "(high - key) >> shift", "((high - key) >> shift) + (high - key == 77)", 0, ""},
	{list, "high -= bin << shift;", "high -= (bin << shift) + 1;", 0, ""},
	{list, "low = high - ((1u << shift) - 1);", "low = high - (1u << shift);", 0, ""},
	{list, "if (k > int(blockDim.x)) return e.low;", "if (k > int(blockDim.x) + 1) return e.low;", 0, ""},
	{list, "uint32_t key = low - 1;", "uint32_t key = low;", 0, ""},
	{list, "measure(value_of(key))", "measure(value_of(key - 1))", 0, ""},
	// Sums.
	{sum, "a.high += units >> 32;", "", 0, ""},
	{sum, "Sum{a.high << 32, a.high >> 32}", "Sum{a.high << 32, 0}", 0, ""},
	{sum, "a.high + b.high + (low < b.low)", "a.high + b.high", 0, ""},
	{sum, "a.high - b.high - (a.low < b.low)", "a.high - b.high", 0, ""},
	{sum, "a.low >= b.low", "a.low > b.low", 0, ""},
	{sum, "a.high != b.high ? a.high > b.high : a.low >= b.low", "a.low >= b.low", 0, ""},
	{sum, "int(b >> 52) - 1012", "int(b >> 52) - 1011", 0, ""},
	{sum, "(top >> 11) - 0x0010000000000000", "((top + 1024) >> 11) - 0x0010000000000000", 0, ""},
	{sum, "(up ? (1ull << -left) - 1 : 0)", "0", 0, "a goal with a fraction is below the first weight"},
	{sum, "up && x > 0.0", "0", 0, "a goal is at least 1 anyway"},
	{sum, "mantissa >> (64 - left)", "0", 0, ""},
	{sum, ">= lanes) s = plus(s, before);", "> lanes) s = plus(s, before);", 0, ""},
	// One token.
	{one, "fsub(x, fmul(spec.frequency, float(h.output)))", "ffma(-spec.frequency, float(h.output), x)", 0, ""},
	{one, "x > 0.0f ? fdiv", "x >= -1.0f ? fdiv", 0, ""},
	{one, "h.in_prompt || h.output > 0", "h.output > 0", 0, ""},
	{one, "h.output > 0 ? fsub(x, spec.presence) : x", "fsub(x, spec.presence)", 0, ""},
	{one, "if (is_allowed(allowed, b.token)) x[b.token]", "x[b.token]", 0, ""},
	{one, "if (is_allowed(allowed, h.token)) x[h.token]", "x[h.token]", 0, ""},
	{one, "spec.masked_n == 0 && spec.allowed_at < 0", "spec.allowed_at < 0", 0, ""},
	{one, ">> (id % 32) & 1", ">> (31 - id % 32) & 1", 0, ""},
	{one, "return x == w.highest ? 0x1p63 : y;", "return y;", 0, ""},
	{one, "q > -DEPTH ? times_power_of_2(y, k + 63) : 0.0", "times_power_of_2(y, k + 63)", 0, ""},
	{one, "DEPTH = 46.0", "DEPTH = 40.0", 0, ""},
	{one, "k + 63", "k + 62", 0, ""},
	{one, "dsub(double(x), double(w.highest)), q", "double(fsub(x, w.highest)), q", 0, ""},
	{one, "q = dfma(dfma(-q, w.temperature, d), w.inverse, q);", "", 0, ""},
	{one, "double y = exp_parts(q, k);", "double y = double(float(exp_parts(q, k)));", 0, ""},
	{one, "dmul(dadd(depth, 1e-3), temperature)", "dmul(dsub(depth, 1e-3), temperature)", 0, ""},
	{one, "weight_of(float highest, float temperature) {", "weight_of(float highest, float temperature) { temperature = fmul(temperature, 1.0000001f);", 0, ""},
	{one, "uint32_t(b >> 32) ^ c1 ^ k0", "uint32_t(b >> 32) ^ c1", 0, ""},
	{one, "uint32_t c0 = uint32_t(position), c1 = uint32_t(position >> 32)", "uint32_t c0 = uint32_t(position), c1 = 0", 0, ""},
	{one, "c2 = choice", "c2 = 0", 0, ""},
	// Whole kernels.
	{all, "if (!reaches(goal, sum_of(1))) goal = sum_of(1);", "", 0, ""},
	{all, "exchange(ws, sum_of(all))))), true)", "exchange(ws, sum_of(all))))), false)", 0, "a goal with a fraction is below the first weight"},
	{all, "depth = 4 << d;", "depth = 2 << d;", 0, ""},
	{all, "{39332536, 720401, 242}", "{0, 0, 0}", 0, ""},
	{all, "dmul(min_p, 0x1p63)", "dmul(min_p, 0x1p62)", 0, ""},
	{all, "spec.top_k >= vocab", "spec.top_k > vocab", 0, "all are kept, more slowly"},
	{all, "spec.top_k <= 0", "spec.top_k < 0", 0, ""},
	{all, "!(spec.top_p < 1.0f)", "!(spec.top_p < 0.99f)", 0, ""},
	{all, "by_weight < 2; by_weight++", "by_weight < 1; by_weight++", 0, ""},
	{all, "return y < min_p ? 0", "return y <= min_p ? 0", 0, ""},
	{all, "-log_f64(min_p)", "dmul(-0.5, log_f64(min_p))", 0, ""},
	{all, "plus(whole(goal, false), sum_of(1))", "whole(goal, true)", 0, "it differs once in 2^53 draws"},
	{all, "if (e.low == 0) {", "if (e.high == 0) {", 0, ""},
	{all, "spec.temperature < 1e-6f", "spec.temperature <= 1e-6f", 0, ""},
	{all, "r.status == 0 ? r.token : 0", "r.token", 0, ""},
	{all, "e.high < key_of(INFINITE)", "true", 0, ""},
	{all, "row[e.first], 1.0f", "value_of(e.high), 1.0f", 0, ""},
	{all, "before += other > key || (", "before += other >= key || (", 0, ""},
	{all, "s.score < 0 || r.status != 0", "s.score < 0", 0, ""},
	{all, "i += int(gridDim.x)", "i += int(gridDim.x) + 1", 0, ""},
	{all, "i += int(gridDim.x)", "i += int(gridDim.x) + 1", 1, ""},
	{all, "blockIdx.x * sample_scratch_bytes(vocab)", "0", 0, ""},
}

// barriers are mutants without one of the barriers.
func barriers(t *testing.T) []mutant {
	var out []mutant
	for _, file := range []string{list, one, all} {
		text := string(read(t, filepath.Join(home, file)))
		for _, barrier := range []string{"__syncthreads();", "__syncwarp();"} {
			for i := range strings.Count(text, barrier) {
				out = append(out, mutant{file, barrier, noBarrier, i, ""})
			}
		}
	}
	return out
}

// text is the file with the change.
func (m mutant) text(t *testing.T) string {
	t.Helper()
	text, at := string(read(t, filepath.Join(home, m.file))), 0
	for n := 0; ; n++ {
		i := strings.Index(text[at:], m.old)
		if i < 0 {
			t.Fatalf("%s has no occurrence %d of %q", m.file, m.at, m.old)
		}
		if n == m.at {
			return text[:at+i] + m.new + text[at+i+len(m.old):]
		}
		at += i + len(m.old)
	}
}

// folder is a copy of the kernels' sources with the change.
func (m mutant) folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	files, err := filepath.Glob(filepath.Join(home, "*.cu*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text := string(read(t, f))
		if filepath.Base(f) == m.file {
			text = m.text(t)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(f)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Mutants of the kernels fail against the twin, or have races. It takes about 20 s for each,
// so it needs TROUPE_CUDA_MUTANTS: 1 for all of them, or how many are drawn.
func TestMutants(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("TROUPE_CUDA_MUTANTS"))
	if n == 0 {
		t.Skip("set TROUPE_CUDA_MUTANTS=1")
	}
	list := append(barriers(t), mutants...)
	if n > 1 {
		rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		list = list[:min(n, len(list))]
	}
	for _, m := range list {
		t.Run(fmt.Sprintf("%s %q %d", m.file, m.old, m.at), func(t *testing.T) {
			p := program(t, mainSources, m.folder(t), cudaemu.Races)
			for _, args := range [][]string{{"weights", "1000000"}, {"twin", "1", "2000", "4097"}, {"twin", "5000000", "60", "32000"}, {"twin", "6000000", "4000", "701"}} {
				if out, err := exec.Command("timeout", append([]string{"300", p}, args...)...).CombinedOutput(); err != nil {
					line, _, _ := strings.Cut(string(out), "\n")
					if m.equivalent != "" {
						t.Errorf("%q -> %q (%d) is noticed, although %s: %.150s", m.old, m.new, m.at, m.equivalent, line)
					}
					t.Logf("%q -> %q (%d): found, %.150s", m.old, m.new, m.at, line)
					return
				}
			}
			if m.equivalent == "" {
				t.Errorf("%q -> %q (%d) is not noticed", m.old, m.new, m.at)
			}
		})
	}
}
