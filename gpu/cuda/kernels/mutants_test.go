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
	"embed.cu":                   {[]string{"embed.cu"}, []string{"embed"}},
	"rmsnorm.cuh":                {[]string{"rmsnorm.cu", "tensor_round.cu"}, []string{"rmsnorm", "round"}},
	"tensor_round.cu":            {[]string{"tensor_round.cu"}, []string{"round"}},
	"rope.cuh":                   {[]string{"rope.cu"}, []string{"rope"}},
	"rope_store_kv.cu":           {[]string{"rope_store_kv.cu"}, []string{"rope_store_kv"}},
	"kv.cuh":                     {[]string{"store_kv.cu", "attention.cu"}, []string{"store_kv", "attention"}},
	"store_kv.cu":                {[]string{"store_kv.cu"}, []string{"store_kv"}},
	"pages.cu":                   {[]string{"pages.cu"}, []string{"pages"}},
	"order.cuh":                  {[]string{"attention.cu"}, []string{"attention"}},
	"linear.cu":                  {[]string{"linear.cu"}, []string{"linear"}},
	"attention.cu":               {[]string{"attention.cu"}, []string{"attention"}},
	"tensor.cuh":                 {[]string{"tensor_gemm.cu", "tensor_gemm_few.cu", "tensor_decode.cu"}, []string{"gemm_few", "gemm_many", "attention_decode"}},
	"tensor_many.cuh":            {[]string{"tensor_gemm.cu", "tensor_gemm_wgmma.cu"}, []string{"gemm_many", "gemm_wgmma"}},
	"tensor_gemm.cu":             {[]string{"tensor_gemm.cu"}, []string{"gemm_many"}},
	"tensor_gemm_few.cu":         {[]string{"tensor_gemm_few.cu"}, []string{"gemm_few"}},
	"tensor_gemm_wgmma.cu":       {[]string{"tensor_gemm_wgmma.cu"}, []string{"gemm_wgmma"}},
	"tensor_attention.cuh":       {[]string{"tensor_prompt.cu", "tensor_decode.cu"}, []string{"attention_prompt", "attention_decode"}},
	"tensor_decode.cu":           {[]string{"tensor_decode.cu"}, []string{"attention_decode"}},
	"tensor_decode_copy.cuh":     {[]string{"tensor_decode.cu"}, []string{"attention_decode"}},
	"tensor_decode_merge.cuh":    {[]string{"tensor_decode.cu"}, []string{"attention_decode"}},
	"tensor_decode_products.cuh": {[]string{"tensor_decode.cu"}, []string{"attention_decode"}},
	"tensor_prompt.cu":           {[]string{"tensor_prompt.cu"}, []string{"attention_prompt"}},
	"tensor_prompt_copy.cuh":     {[]string{"tensor_prompt.cu"}, []string{"attention_prompt"}},
	"tensor_prompt_warp.cuh":     {[]string{"tensor_prompt.cu"}, []string{"attention_prompt"}},
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
	{"rope_store_kv.cu", "head >= heads + 2 * kv_heads", "false", 0, true},
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
	{"tensor_gemm_few.cu", "fetch(stage == 0 ? R::STAGES - 1 : stage - 1);", "fetch(stage);", 0, false},
	{"tensor_gemm_few.cu", "if (++stage == R::STAGES) stage = 0;", "if (++stage == R::STAGES - 1) stage = 0;", 0, false},
	{"tensor_gemm_few.cu", "i < R::STAGES - 1; i++) fetch(i)", "i < R::STAGES - 2; i++) fetch(i)", 0, false},
	{"tensor_gemm_few.cu", "later(run, copier.unit, WARPS)", "later(run, copier.unit, WARPS - 1)", 0, false},
	{"tensor_gemm_few.cu", "u.segment - r.segments}", "0}", 0, false},
	{"tensor_gemm_few.cu", "sums[u]", "sums[u ^ 1]", 0, false},
	{"tensor_gemm_few.cu", "u < WARPS && round.group < run.end", "u < WARPS", 0, false},
	{"tensor_gemm_few.cu", "round.segment += most - u;", "round.segment += lesser(most - u, WARPS - 1);", 0, false},
	{"tensor_gemm_few.cu", "lesser(lesser(group + r.height, most), r.end)", "lesser(group + r.height, r.end)", 0, false},
	{"tensor_gemm_few.cu", "lesser(lesser(group + r.height, most), r.end)", "lesser(group + r.height, most)", 0, false},
	{"tensor_gemm_few.cu", "blockIdx.x < more ? blockIdx.x : more", "blockIdx.x < more ? more : blockIdx.x", 0, false},
	{"tensor_gemm_few.cu", "each + (blockIdx.x < more)", "each", 0, false},
	{"tensor_gemm_few.cu", "count > HEIGHT && ", "false && ", 0, false},
	{"tensor_gemm_few.cu", "group < r.groups01 ? x1 : x2", "group <= r.groups01 ? x1 : x2", 0, false},
	{"tensor_gemm_few.cu", "of(0, r.groups0, r.groups01)", "of(0, r.groups0, r.groups0)", 0, false},
	{"tensor_gemm_few.cu", "lesser((next(r, group) - group) * GROUP, m.n - first)", "(next(r, group) - group) * GROUP", 0, true},
	{"tensor_gemm_few.cu", "c.elements > 0 && i < c.columns", "c.elements > 0", 0, true},
	{"tensor_gemm_few.cu", "c.elements > 0 && i < c.rows", "c.elements > 0", 0, true},
	{"tensor_gemm_few.cu", "c.elements > 0 && i < c.columns", "i < c.columns", 0, true},
	{"tensor_gemm_few.cu", "c.elements > 0 && i < c.rows", "i < c.rows", 0, true},
	{"tensor_gemm_few.cu", "copier.elements -= TILE_K;", "", 0, false},
	{"tensor_gemm_few.cu", "if (copier.chunks > 0) copy_weights", "if (true) copy_weights", 0, true},
	{"tensor_gemm_few.cu", "if (group >= r.end) return;", "", 0, false},
	{"tensor_gemm_few.cu", "column < p.columns ? rows - row : 0", "rows - row", 0, true},
	{"tensor_gemm_few.cu", "if (t * 8 < s.tokens) s.out", "s.out", 0, true},
	{"tensor_gemm_few.cu", "s.total[t] = 0;", "if (!accumulate) s.total[t] = 0;", 0, false},
	{"tensor_gemm_few.cu", "s.biased && s.tokens > 0", "s.biased", 0, true},
	{"tensor_gemm_few.cu", "accumulate && t * 8 < s.tokens", "accumulate", 0, true},
	{"tensor_gemm_few.cu", "if (s.biased) total", "if (false) total", 0, false},
	{"tensor_gemm_few.cu", "round = {next(run, round.group), 0};", "round = {round.group + HEIGHT, 0};", 0, false},
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
	{"tensor_attention.cuh", "step->token_position[before] + 1", "step->token_position[before]", 0, false},
	{"tensor_attention.cuh", "token < step->tokens && ", "", 0, true},
	{"tensor_decode_copy.cuh", "(chunk ^ (row / 2 % CHUNKS)) * 16", "chunk * 16", 0, false},
	{"tensor_decode_copy.cuh", "if (left <= 0) {", "if (left < 0) {", 0, true},
	{"tensor_decode_copy.cuh", "if (left > 8) {", "if (true) {", 0, true},
	{"tensor_decode_copy.cuh", "|| head_dim % 16 == 0", "|| true", 0, false},
	{"tensor_decode_copy.cuh", "if (i >= left)", "if (i > left)", 0, false},
	{"tensor_decode_products.cuh", "and_or(x, 0x00800080, 0x43004300)", "0x43004300", 0, false},
	{"tensor_decode_products.cuh", "t % 2 ? 0x302 : 0x100", "0x100", 0, false},
	{"tensor_decode_products.cuh", "codes(b[2 * h + 1] >> 8)", "codes(b[2 * h + 1])", 0, false},
	{"tensor_decode_products.cuh", "h != step % 2", "h == step % 2", 0, false},
	{"tensor_decode_merge.cuh", "(from + i) % 32", "i", 0, false},
	{"tensor_decode_merge.cuh", "if (from + i == 0)", "if (i == 0)", 0, false},
	{"tensor_decode_merge.cuh", "before = peak[i]", "before = highest", 0, false},
	{"tensor_decode_merge.cuh", "if (lane >= d) highest", "highest", 0, false},
	{"tensor_decode_merge.cuh", "mine && from + i < segments", "from + i < segments", 0, true},
	{"tensor_decode_merge.cuh", "if (from + lane < segments)", "", 0, true},
	{"tensor_decode.cu", "if (follows | goes_on) return;", "", 0, false},
	{"tensor_decode.cu", "token > 0 ? token - 1 : token", "token - 1", 0, true},
	{"tensor_decode.cu", "token + 1 < tokens ? token + 1 : token", "token + 1", 0, true},
	{"tensor_decode.cu", "segments * part <= args.work_floats", "true", 0, true},
	{"tensor_decode.cu", "position < end ? pages", "true ? pages", 0, true},
	{"tensor_decode.cu", "if (base_of(n) >= end) return;", "", 0, false},
	{"tensor_decode.cu", "row < rows && pair", "pair", 0, true},
	{"tensor_decode.cu", "j * 8 + c < end_of_row ? x : -INFINITE", "x", 0, false},
	{"tensor_decode.cu", "j * 8 + t * 2 + c < end ? fmul", "j * 8 + t * 2 + c < end + 1 ? fmul", 0, false},
	{"tensor_decode.cu", "if (end - base < BLOCK) clear", "if (false) clear", 0, false},
	{"tensor_decode.cu", "warp == 0 ? shrink[0] : shrink[1]", "shrink[0]", 0, false},
	{"tensor_decode.cu", "n % BLOCKS != BLOCKS - 1 && ", "", 0, false},
	{"tensor_decode.cu", "peak[0] = peak[1] = -INFINITE;", "", 0, false},
	{"tensor_decode.cu", "if (r == warp) merged_total", "if (r == 0) merged_total", 0, false},
	{"tensor_prompt.cu", "block % 4", "block % 2", 0, false},
	{"tensor_prompt.cu", "block % 2", "0", 0, false},
	{"tensor_prompt.cu", "some(base + 1, most + 1)", "some(base + 2, most + 1)", 0, false},
	{"tensor_prompt.cu", "ragged = some(1, base + BLOCK)", "ragged = some(1, base)", 0, false},
	{"tensor_prompt.cu", "return some(1, lesser(base + BLOCK, most)) && ", "return false && ", 0, false},
	{"tensor_prompt.cu", "if (guarded) {", "if (false) {", 0, false},
	{"tensor_prompt_warp.cuh", "position + 1 < sees", "position < sees", 0, false},
	{"tensor_prompt_warp.cuh", "x = base + i < end[r] ? x : -INFINITE;", "x = fmul(x, 1);", 0, false},
	{"tensor_prompt_warp.cuh", "!RAGGED || base + i < end[r] ? fmul", "true ? fmul", 0, false},
	{"tensor_prompt_warp.cuh", ", fsub(peak, peak))", ", 0)", 0, false},
	{"tensor_prompt_warp.cuh", "n % AHEAD][0]", "(n + 1) % AHEAD][0]", 0, false},
	{"tensor_prompt_warp.cuh", "load(v, values, n + AHEAD);", "load(v, values, n + AHEAD + 1);", 0, false},
	{"tensor_prompt_warp.cuh", "place ^ step % 4 * 32", "place", 0, false},
	{"tensor_prompt_warp.cuh", "q[c % 2] && element < head_dim", "q[c % 2]", 0, true},
	{"tensor_prompt_copy.cuh", "one(i, int(first) + i * STEP < n)", "one(i, true)", 0, true},
	{"tensor_prompt_copy.cuh", "chunk + h ^ row % 8", "chunk + h", 0, false},
	{"tensor_prompt_copy.cuh", "if (head_dim % 16 == 0) {", "if (true) {", 0, false},
	{"tensor_prompt_copy.cuh", "int(row) < n ? head_dim", "true ? head_dim", 0, true},
	{"tensor_prompt.cu", "mine < BLOCK && p < most", "mine < BLOCK", 0, true},
	{"tensor_prompt.cu", "segment * POSITIONS ? join", "0 ? join", 0, false},
	{"tensor_prompt.cu", "last - first > 1 || !alone(step, first)", "last - first > 1", 0, false},
	{"tensor_prompt.cu", "(block + 1) % (POSITIONS / BLOCK) != 0 && ", "", 0, false},
}

// missing are mutants without one of the barriers, waits and fences.
func missing(t *testing.T) []mutant {
	var list []mutant
	for file := range mutantTests {
		text := source(t, file)
		for _, call := range []string{"wait_for_previous();", "__syncthreads();", "__syncwarp();", "sync_team<D>(team);", "cp_async_wait<1>();", "cp_async_wait<0>();",
			"cp_async_wait<N - 1>();", "cp_async_wait<STAGES - 2>();", "cp_async_wait<R::STAGES - 2>();", "wgmma_fence();", "wgmma_wait<0>();", "wgmma_wait<1>();",
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

// raced are changes that only the race detector of the emulation notices, and the test of two
// blocks where it does: the blocks of an emulation hardly ever meet.
var raced = map[string]string{
	`tensor.cuh "__syncthreads();" 0`:           "decode_two_blocks",
	`tensor_many.cuh "bar_sync(1, THREADS);" 0`: "gemm_two_blocks",
}

// unseen are changes that no test can see, and why.
var unseen = map[string]string{
	`attention.cu "__syncwarp();" 0`:                                            "the emulation's shuffles order memory, too; a GPU's do not",
	`tensor.cuh "(chunk ^ (row % 8)) * 16" 0`:                                   "only conflicts of banks",
	`tensor_gemm_wgmma.cu "(1024 - shared_address(unaligned) % 1024) % 1024" 0`: "the emulation's swizzles follow the address; a GPU's descriptors count from 1,024",
	`tensor_decode_copy.cuh "(chunk ^ (row / 2 % CHUNKS)) * 16" 0`:              "only conflicts of banks",
	`tensor_decode_merge.cuh "if (lane >= d) highest" 0`:                        "the first lanes get their own peak back",
	`tensor_decode.cu "if (base_of(n) >= end) return;" 0`:                       "blocks beyond the end are copied from page 0 and never read",
	`tensor_decode.cu "if (follows | goes_on) return;" 0`:                       "the same bits twice",
	`tensor_gemm_few.cu "u < WARPS && round.group < run.end" 0`:                 "zeros are added to the last sums, and these are written again",
	`tensor_gemm_few.cu "if (group >= r.end) return;" 0`:                        "a pass behind the last one has no columns",
	`tensor_gemm_few.cu "count > HEIGHT && " 0`:                                 "passes of another height, the same bits",
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
		t.Errorf("%s has no occurrence %d of %q", m.file, m.at, m.old)
		return text
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
	switch {
	case raced[m.name()] != "":
		options.Sanitizer = cudaemu.Races
	case m.memory:
		options.Sanitizer = cudaemu.Address
	}
	return cudaemu.Program(files, []string{".", "twin"}, options)
}

// Each mutant has a place in its file, and what is listed as unseen is a mutant.
func TestMutantsHaveAPlace(t *testing.T) {
	names := map[string]bool{}
	for _, m := range append(missing(t), mutants...) {
		m.text(t)
		names[m.name()] = true
	}
	for _, list := range []map[string]string{unseen, raced} {
		for name := range list {
			if !names[name] {
				t.Errorf("%s is listed, but no mutant has this name", name)
			}
		}
	}
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
				tests := mutantTests[m.file].tests
				if test := raced[m.name()]; test != "" {
					tests = []string{test}
				}
				args := append([]string{"300", program, seed}, tests...)
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
