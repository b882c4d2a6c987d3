package kernels

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/testkit/cudaemu"
)

// mutant is a change of a source that the twins must notice.
type mutant struct {
	file, old, new string
	at             int // which occurrence of old changes, from 0 on
	// memory: only a look at memory accesses finds it.
	memory bool
}

// Files whose kernels the tests of a name run.
var mutantTests = map[string]struct{ kernels, tests []string }{
	"embed.cu":             {[]string{"embed.cu"}, []string{"embed"}},
	"rmsnorm.cuh":          {[]string{"rmsnorm.cu", "tensor_round.cu"}, []string{"rmsnorm", "round"}},
	"tensor_round.cu":      {[]string{"tensor_round.cu"}, []string{"round"}},
	"rope.cuh":             {[]string{"rope.cu"}, []string{"rope"}},
	"rope_store_kv.cu":     {[]string{"rope_store_kv.cu"}, []string{"rope_store_kv"}},
	"kv.cuh":               {[]string{"store_kv.cu", "attention.cu"}, []string{"store_kv", "attention"}},
	"store_kv.cu":          {[]string{"store_kv.cu"}, []string{"store_kv"}},
	"pages.cu":             {[]string{"pages.cu"}, []string{"pages"}},
	"order.cuh":            {[]string{"attention.cu"}, []string{"attention"}},
	"linear.cu":            {[]string{"linear.cu"}, []string{"linear"}},
	"attention.cu":         {[]string{"attention.cu"}, []string{"attention"}},
	"tensor.cuh":           {[]string{"tensor_gemm.cu", "tensor_gemm_few.cu", "tensor_decode.cu"}, []string{"gemm_few", "gemm_many", "attention_decode"}},
	"tensor_many.cuh":      {[]string{"tensor_gemm.cu", "tensor_gemm_wgmma.cu"}, []string{"gemm_many", "gemm_wgmma"}},
	"tensor_gemm.cu":       {[]string{"tensor_gemm.cu"}, []string{"gemm_many"}},
	"tensor_gemm_few.cu":   {[]string{"tensor_gemm_few.cu"}, []string{"gemm_few"}},
	"tensor_gemm_wgmma.cu": {[]string{"tensor_gemm_wgmma.cu"}, []string{"gemm_wgmma"}},
	"tensor_attention.cuh": {[]string{"tensor_prompt.cu", "tensor_decode.cu"}, []string{"attention_prompt", "attention_decode"}},
	"tensor_decode.cu":     {[]string{"tensor_decode.cu"}, []string{"attention_decode"}},
	"tensor_prompt.cu":     {[]string{"tensor_prompt.cu"}, []string{"attention_prompt"}},
}

// Barriers, waits and fences are added by missing.
var mutants = []mutant{
	{"embed.cu", "if (id < 0) id = step->sampled", "if (id < -1) id = step->sampled", 0, false},
	{"embed.cu", "uint32_t(id) < uint32_t(step->vocab)", "true", 0, true},
	{"embed.cu", "token >= step->tokens", "false", 0, true},
	{"rmsnorm.cuh", "fadd(fdiv(sum, float(group)), eps)", "fdiv(sum, float(group))", 0, false},
	{"rmsnorm.cuh", "lanes > 0; lanes /= 2", "lanes > 1; lanes /= 2", 0, false},
	{"rmsnorm.cuh", "i < threads / 32", "i < threads / 32 - 1", 0, false},
	{"tensor_round.cu", "i + 1 < width ? at(i + 1) : 0", "at(i + 1)", 0, true},
	{"tensor_round.cu", "i = width + threadIdx.x", "i = width + threadIdx.x + 1", 0, false},
	{"rope.cuh", "-fmul(b, sine)", "fmul(b, sine)", 0, false},
	{"rope_store_kv.cu", "if (values) head -= kv_heads;", "", 0, false},
	{"rope_store_kv.cu", "values ? v + row : k + row", "k + row", 0, false},
	{"kv.cuh", "position >> step->page_shift", "position >> step->page_shift << 1", 0, false},
	{"kv.cuh", "(page * kv_heads + kv_head) <<", "(page + kv_head) <<", 0, false},
	{"kv.cuh", "absmax >= 0x1p-119f", "absmax >= 0x1p-149f", 0, false},
	{"kv.cuh", "most >= 0x7f800000", "most > 0x7f800000", 0, false},
	{"kv.cuh", "fdiv(127.0f, absmax)", "fdiv(128.0f, absmax)", 0, false},
	{"kv.cuh", "nearest_int(fmul(x[i], factor))", "int(fmul(x[i], factor))", 0, false},
	{"store_kv.cu", "token >= step->tokens", "token > step->tokens", 0, true},
	{"pages.cu", "if (i < n) page_table", "if (i <= n) page_table", 0, true},
	{"pages.cu", "bytes % 16 == 0", "bytes % 8 == 0", 0, false},
	{"order.cuh", "exp_not_positive(fsub(peak, highest))", "exp_not_positive(fsub(highest, peak))", 0, false},
	{"order.cuh", "peak = highest;", "", 0, false},
	{"linear.cu", "lesser(from + SEGMENT, k)", "from + SEGMENT", 0, true},
	{"linear.cu", "lesser(n - first, COLUMNS)", "COLUMNS", 0, true},
	{"linear.cu", "lesser(rows - row, ROWS)", "ROWS", 0, true},
	{"linear.cu", "lesser(segments - base, WARPS)", "WARPS", 0, false},
	{"linear.cu", "row += gridDim.y * ROWS", "row += ROWS", 0, false},
	{"linear.cu", "(base + warp) * SEGMENT", "base + warp * SEGMENT", 0, false},
	{"linear.cu", "if (accumulate)", "if (!accumulate)", 0, false},
	{"attention.cu", "int end = step->token_position[token] + 1;", "int end = step->token_position[token] + 2;", 0, false},
	{"attention.cu", "lesser(to - base, BLOCK)", "BLOCK", 0, false},
	{"attention.cu", "total = ffma(total, shrink, sum);", "total = fadd(total, sum);", 0, false},
	{"attention.cu", "acc[j] = fmul(acc[j], shrink);", "", 0, false},
	{"attention.cu", "bool begins = base + w == 0;", "bool begins = w == 0;", 0, false},
	{"attention.cu", "head / (heads / kv_heads)", "head % kv_heads", 0, false},
	{"attention.cu", "head_dim % 4 == 0", "head_dim % 2 == 0", 0, true},
	{"attention.cu", "w < WARPS && base + w * POSITIONS < end", "w < WARPS", 0, false},
	{"tensor.cuh", "first + row + i < rows", "true", 0, true},
	{"tensor.cuh", "bool inside = k0 + chunk * 8 < k_end;", "bool inside = true;", 0, true},
	{"tensor.cuh", "(chunk ^ (row % 8)) * 16", "chunk * 16", 0, false},
	{"tensor.cuh", "step * 2 + lane / 16));", "step * 2 + lane / 8 % 2));", 0, false},
	{"tensor.cuh", "lane / 16 * 8, step * 2 + lane / 8 % 2", "lane / 8 % 2 * 8, step * 2 + lane / 16", 0, false},
	{"tensor.cuh", "if (last) *arrived = 0;", "", 0, false},
	{"tensor.cuh", "blocks - 1;", "blocks - 2;", 0, false},
	{"tensor_many.cuh", "lesser(PATCH, tiles.rows - patch)", "PATCH", 0, false},
	{"tensor_many.cuh", "column -= tiles.first;", "", 0, false},
	{"tensor_many.cuh", "column -= tiles.second;", "", 0, false},
	{"tensor_many.cuh", "segment - part.step + 1;", "segment - part.step;", 0, false},
	{"tensor_many.cuh", "segments - step + 1}", "segments - step}", 0, false},
	{"tensor_many.cuh", "if (last) *arrived = 0;", "", 0, false},
	{"tensor_many.cuh", "blocks - 1;", "blocks - 2;", 0, false},
	{"tensor_many.cuh", "s + i < slots ?", "true ?", 0, true},
	{"tensor_many.cuh", "x[i][v].x[c]);", "x[AHEAD - 1 - i][v].x[c]);", 0, false},
	{"tensor_many.cuh", "m.bias && column < m.n ?", "m.bias ?", 0, true},
	{"tensor_many.cuh", "accumulate && inside ? *p", "accumulate ? *p", 0, true},
	{"tensor_many.cuh", "if (inside) *p = x;", "*p = x;", 0, true},
	{"tensor_many.cuh", "row + a.row < rows && column", "column", 0, true},
	{"tensor_gemm.cu", "i % CHUNKS != CHUNKS - 1 && i != chunks - 1", "i != chunks - 1", 0, false},
	{"tensor_gemm.cu", "acc[j][c] = 0;", "", 0, false},
	{"tensor_gemm.cu", "fetch(i + STAGES - 1);", "fetch(i + STAGES);", 0, false},
	{"tensor_gemm.cu", "part.from + i / CHUNKS", "i / CHUNKS", 0, false},
	{"tensor_gemm.cu", "tile += gridDim.x", "tile += count", 0, false},
	{"tensor_gemm_few.cu", "fetch(next + R::STAGES - 1);", "fetch(next + R::STAGES);", 0, false},
	{"tensor_gemm_few.cu", "next < (round + 1) * CHUNKS", "next < (round + 2) * CHUNKS", 0, false},
	{"tensor_gemm_few.cu", "lesser(segments - round * slots, slots)", "slots", 0, false},
	{"tensor_gemm_few.cu", "token < rows && column < n", "token < rows", 0, true},
	{"tensor_gemm_wgmma.cu", "F::THREADS / 32);", "F::THREADS / 64);", 0, false},
	{"tensor_gemm_wgmma.cu", "if (t.stage == 0) t.parity ^= 1;", "", 0, false},
	{"tensor_gemm_wgmma.cu", "moved(tokens, step * 32)", "moved(tokens, step * 64)", 0, false},
	{"tensor_gemm_wgmma.cu", "threadIdx.x / GROUP * BOX_BYTES", "0", 0, false},
	{"tensor_gemm_wgmma.cu", "8 * ROW_BYTES, ROW_BYTES", "4 * ROW_BYTES, ROW_BYTES", 0, false},
	{"tensor_gemm_wgmma.cu", "(1024 - shared_address(unaligned) % 1024) % 1024", "0", 0, false},
	{"tensor_gemm_wgmma.cu", "step > 0 || i > first", "true", 0, false},
	{"tensor_gemm_wgmma.cu", "F::W_BYTES + boxes * BOX_BYTES", "F::W_BYTES + BOX_BYTES", 0, false},
	{"tensor_gemm_wgmma.cu", "if (part.from > 0) return;", "", 0, false},
	{"tensor_gemm_wgmma.cu", "first / CHUNKS), tile", "0), tile", 0, false},
	{"tensor_gemm_wgmma.cu", "rest, F::IN_REGISTERS * 8", "rest, 0", 0, false},
	{"tensor_gemm_wgmma.cu", "(quad ^ (g % 4 / 2 * 2))", "quad", 0, false},
	{"tensor_gemm_wgmma.cu", "g % 4 * 2 + g / 4", "g", 0, false},
	{"tensor_gemm_wgmma.cu", "t.matrix.n % 4 == 0", "true", 0, true},
	{"tensor_gemm_wgmma.cu", "if (column >= n) return;", "", 0, true},
	{"tensor_gemm_wgmma.cu", "if (inside) *(many::Vector *)to", "*(many::Vector *)to", 0, true},
	{"tensor_gemm_wgmma.cu", "p.accumulate && inside ?", "p.accumulate ?", 0, true},
	{"tensor_gemm_wgmma.cu", "p.accumulate && inside && column + c < n ?", "p.accumulate ?", 0, true},
	{"tensor_gemm_wgmma.cu", "if (inside && column + c < n)", "if (inside)", 0, true},
	{"tensor_gemm_wgmma.cu", "gridDim.x : count", "count : count", 0, false},
	{"tensor_attention.cuh", "x = base + i < end[c / 2] ? x : -INFINITE;", "", 0, false},
	{"tensor_attention.cuh", "inside && row < n", "inside", 0, true},
	{"tensor_attention.cuh", "if (!guard) {", "if (true) {", 0, false},
	{"tensor_attention.cuh", "position + 1 < sees", "position < sees", 0, false},
	{"tensor_attention.cuh", "step->token_position[before] + 1", "step->token_position[before]", 0, false},
	{"tensor_attention.cuh", "token < step->tokens && ", "", 0, true},
	{"tensor_attention.cuh", "base + j * 8 + t * 2 + c < end[r] ? fmul", "true ? fmul", 0, false},
	{"tensor_decode.cu", "lesser((seg + 1) * POSITIONS, end)", "(seg + 1) * POSITIONS", 0, true},
	{"tensor_decode.cu", "first + slots >= segments", "first + slots > segments", 0, false},
	{"tensor_decode.cu", "row < rows ? q : nullptr", "q", 0, true},
	{"tensor_decode.cu", "!alone(step, token)", "false", 0, false},
	{"tensor_decode.cu", "heads = lesser(heads, args.kv_heads - first_head);", "", 0, true},
	{"tensor_decode.cu", "join_part(row, seg == 0,", "join_part(row, true,", 0, false},
	{"tensor_prompt.cu", "block % 3", "block % 2", 0, false},
	{"tensor_prompt.cu", "base < highest", "base < highest - 1", 0, false},
	{"tensor_prompt.cu", "bool ragged = least < lesser(base + BLOCK, most);", "bool ragged = false;", 0, false},
	{"tensor_prompt.cu", "segment * POSITIONS ? join", "0 ? join", 0, false},
	{"tensor_prompt.cu", "last - first > 1 || !alone(step, first)", "last - first > 1", 0, false},
	{"tensor_prompt.cu", "(block + 1) % (POSITIONS / BLOCK) != 0 && ", "", 0, false},
}

// missing are mutants without one of the barriers, waits and fences.
func missing(t *testing.T) []mutant {
	var list []mutant
	for file := range mutantTests {
		text := source(t, file)
		for _, call := range []string{"__syncthreads();", "__syncwarp();", "sync_team<D>(team);", "cp_async_wait<1>();", "cp_async_wait<0>();",
			"cp_async_wait<STAGES - 2>();", "cp_async_wait<R::STAGES - 2>();", "wgmma_fence();", "wgmma_wait<0>();", "wgmma_wait<1>();",
			"mbarrier_wait(&barriers.full[s], turn.parity);", "mbarrier_wait(&barriers.empty[s], turn.parity ^ 1);", "mbarrier_fence_init();",
			"if (tells) mbarrier_arrive(&barriers.empty[s]);", "bar_sync(1, THREADS);"} {
			for i := range strings.Count(text, call) {
				list = append(list, mutant{file, call, "(void)0;", i, false})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b mutant) int { return strings.Compare(a.file, b.file) })
	return list
}

// unseen are changes that no test can see, and why.
var unseen = map[string]string{
	`attention.cu "__syncwarp();" 0`:                                            "the emulation's shuffles order memory, too; a GPU's do not",
	`tensor.cuh "__syncthreads();" 0`:                                           "two blocks of the emulation hardly ever meet there",
	`tensor_many.cuh "bar_sync(1, THREADS);" 0`:                                 "two blocks of the emulation hardly ever meet there",
	`tensor.cuh "(chunk ^ (row % 8)) * 16" 0`:                                   "only conflicts of banks",
	`tensor_gemm_wgmma.cu "(1024 - shared_address(unaligned) % 1024) % 1024" 0`: "the emulation's swizzles follow the address; a GPU's descriptors count from 1,024",
	`tensor_attention.cuh "step->token_position[before] + 1" 0`:                 "every token counts as alone and is computed as such, with the same bits",
	`tensor_decode.cu "!alone(step, token)" 0`:                                  "the same bits twice",
	`tensor_gemm_few.cu "lesser(segments - round * slots, slots)" 0`:            "zeros are added",
	`tensor_gemm_few.cu "__syncwarp();" 0`:                                      "the emulation's ldmatrix waits for all lanes, too; a GPU's orders no memory",
	`tensor_gemm_few.cu "cp_async_wait<0>();" 0`:                                "only empty groups are left",
}

func (m mutant) name() string { return fmt.Sprintf("%s %q %d", m.file, m.old, m.at) }

func source(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// text is the file with the change.
func (m mutant) text(t *testing.T) string {
	t.Helper()
	text := source(t, m.file)
	at := 0
	for range m.at {
		at += max(0, strings.Index(text[at:], m.old)) + len(m.old)
	}
	i := strings.Index(text[at:], m.old)
	if i < 0 {
		t.Fatalf("%s has no occurrence %d of %q", m.file, m.at, m.old)
	}
	return text[:at+i] + m.new + text[at+i+len(m.old):]
}

// build compiles the test program with the change. The changed header lies beside the
// kernels that include it, where the compiler looks first.
func (m mutant) build(t *testing.T) (string, error) {
	t.Helper()
	dir, files := t.TempDir(), glob(t, "twin/*.cc")
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	changed := mutantTests[m.file].kernels
	for _, f := range glob(t, "*.cu*") {
		name := filepath.Base(f)
		text := source(t, f)
		if name == m.file {
			text = m.text(t)
		}
		switch {
		case strings.HasSuffix(name, ".cuh"):
			write(name, text)
		case slices.Contains(changed, name):
			// The comment makes it another source, though only a header changed.
			files = append(files, write(name, fmt.Sprintf("%s\n// %s %q\n", text, m.name(), m.new)))
		default:
			files = append(files, f)
		}
	}
	var options cudaemu.Options
	if m.memory {
		options.Sanitizer = cudaemu.Address
	}
	return cudaemu.Program(files, []string{".", "twin"}, options)
}

// Every barrier, wait and guard of the kernels matters: without it, a twin or the
// emulation notices, or the list says why not. It takes some seconds for each, so it
// needs TROUPE_CUDA_MUTANTS: 1 for all of them, or how many are drawn.
func TestMutants(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("TROUPE_CUDA_MUTANTS"))
	if n == 0 {
		t.Skip("set TROUPE_CUDA_MUTANTS=1")
	}
	twins(t)
	list := append(missing(t), mutants...)
	if n > 1 {
		rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		list = list[:min(n, len(list))]
	}
	for _, m := range list {
		t.Run(m.name(), func(t *testing.T) {
			program, err := m.build(t)
			if err != nil {
				t.Fatalf("it does not compile: %v", err)
			}
			for _, seed := range []string{"2", "3", "4", "1"} {
				args := append([]string{"300", program, seed}, mutantTests[m.file].tests...)
				cmd := exec.Command("timeout", args...)
				cmd.Env = append(os.Environ(), cudaemu.SanitizerEnvironment()...)
				if out, err := cmd.CombinedOutput(); err != nil {
					line := string(out)
					if i := strings.Index(line, "FAIL"); i >= 0 {
						line = line[i:]
					}
					line, _, _ = strings.Cut(line, "\n")
					t.Logf("found: %.150s", line)
					if unseen[m.name()] != "" {
						t.Errorf("the list says it changes nothing")
					}
					return
				}
			}
			if why := unseen[m.name()]; why != "" {
				t.Logf("changes nothing: %s", why)
				return
			}
			t.Errorf("%q -> %q is not noticed", m.old, m.new)
		})
	}
}
