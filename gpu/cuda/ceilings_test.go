//go:build cuda

package cuda

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cuda/driver"
	"github.com/troupe-engine/troupe/testkit/cudaemu"
)

// TestCeilings measures what the device can do, and which share of that each kernel reaches
// for the shapes of Llama 3.1 8B. It prints tables for docs/benchmarks/cuda.md. It needs a
// GPU; with -short everything is small, to try the test itself on the emulation.
func TestCeilings(t *testing.T) {
	if !cudaemu.RealDevice() {
		t.Skipf("it measures a GPU; set %s", cudaemu.DeviceVariable)
	}
	m := &meter{bed: newBed(t), scale: 1, least: 50 * time.Millisecond}
	if testing.Short() {
		m.scale, m.least = 64, 0
	}
	m.splits = splits{multiprocessors: m.device.Description().Multiprocessors}
	t.Log("| ceiling | of | rate |")
	t.Log("|---|---|---|")
	m.ceilings()
	t.Log("| kernel | shape | time | GB/s | TFLOP/s | share of the ceiling |")
	t.Log("|---|---|---|---|---|---|")
	m.products()
	m.attention()
	m.rows()
	m.sampling()
}

// meter measures kernels on a GPU.
type meter struct {
	*bed
	splits splits
	scale  int           // divides widths and contexts
	least  time.Duration // that a measurement runs
	bytes  float64       // per second, read from memory
	flops  float64       // per second, products of bf16
}

// each is the time of one run, of enough runs in a row. f starts the run of a number, so that
// runs can read different memory; from the first on, nothing it needs is in the caches.
func (m *meter) each(f func(run int)) time.Duration {
	m.t.Helper()
	begin, err := m.device.NewEvent(driver.EventOptions{Timing: true})
	m.must(err)
	end, err := m.device.NewEvent(driver.EventOptions{Timing: true})
	m.must(err)
	defer func() { m.must(begin.Close()); m.must(end.Close()) }()
	for runs := 1; ; runs *= 4 {
		f(0)
		m.must(m.stream.Record(begin))
		for i := range runs {
			f(i + 1)
		}
		m.must(m.stream.Record(end))
		m.must(m.stream.Synchronize())
		took, err := end.Since(begin)
		m.must(err)
		if took >= m.least || runs >= 1<<14 {
			return max(1, took/time.Duration(runs))
		}
	}
}

// start launches a kernel without waiting.
func (m *meter) start(kernel string, grid driver.Dim, block, shared int, arguments ...uint64) {
	m.t.Helper()
	m.must(m.stream.Launch(m.kernels.functions[kernel], grid, driver.Dim{X: block}, shared, arguments))
}

// by divides a size, to a multiple of 64.
func (m *meter) by(n int) int { return max(64, n/m.scale/64*64) }

// row prints what a kernel has to read and write, and to compute, as rates. Its ceiling is
// the larger of the times that these need.
func (m *meter) row(kernel, shape string, took time.Duration, bytes, flops float64) {
	s := took.Seconds()
	floor := max(bytes/m.bytes, flops/m.flops)
	m.t.Logf("| %s | %s | %.1f µs | %.0f | %.1f | %.0f %% |", kernel, shape, s*1e6, bytes/s/1e9, flops/s/1e12, 100*floor/s)
}

// blank is memory with one byte everywhere: 0x3c3c is 0.0115 in bf16, 1.06 in f16.
func (m *meter) blank(bytes int64) *driver.Memory {
	m.t.Helper()
	b := m.take(bytes)
	m.must(m.stream.Fill(b, 0, b.Size(), 0x3c))
	return b
}

// readPTX reads memory in vectors of 16 bytes, four on their way at once: entry
// read(from, vectors, out). It writes only if the exclusive or of all is a certain number.
const readPTX = `.version 8.0
.target sm_80
.address_size 64
.visible .entry read(.param .u64 from, .param .u64 vectors, .param .u64 out)
{
	.reg .pred %p<2>;
	.reg .b32 %r<24>;
	.reg .b64 %rd<14>;
	ld.param.u64 %rd1, [from];
	ld.param.u64 %rd2, [vectors];
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %ntid.x;
	mov.u32 %r3, %tid.x;
	mov.u32 %r4, %nctaid.x;
	mul.wide.u32 %rd3, %r1, %r2;
	cvt.u64.u32 %rd4, %r3;
	add.u64 %rd3, %rd3, %rd4;
	mul.wide.u32 %rd5, %r4, %r2;
	shl.b64 %rd6, %rd5, 4;
	shl.b64 %rd7, %rd5, 2;
	mov.u32 %r5, 0;
LOOP:
	setp.ge.u64 %p1, %rd3, %rd2;
	@%p1 bra END;
	shl.b64 %rd8, %rd3, 4;
	add.u64 %rd9, %rd1, %rd8;
	add.u64 %rd10, %rd9, %rd6;
	add.u64 %rd11, %rd10, %rd6;
	add.u64 %rd12, %rd11, %rd6;
	ld.global.nc.v4.u32 {%r6, %r7, %r8, %r9}, [%rd9];
	ld.global.nc.v4.u32 {%r10, %r11, %r12, %r13}, [%rd10];
	ld.global.nc.v4.u32 {%r14, %r15, %r16, %r17}, [%rd11];
	ld.global.nc.v4.u32 {%r18, %r19, %r20, %r21}, [%rd12];
	xor.b32 %r6, %r6, %r7;
	xor.b32 %r8, %r8, %r9;
	xor.b32 %r10, %r10, %r11;
	xor.b32 %r12, %r12, %r13;
	xor.b32 %r14, %r14, %r15;
	xor.b32 %r16, %r16, %r17;
	xor.b32 %r18, %r18, %r19;
	xor.b32 %r20, %r20, %r21;
	xor.b32 %r6, %r6, %r8;
	xor.b32 %r10, %r10, %r12;
	xor.b32 %r14, %r14, %r16;
	xor.b32 %r18, %r18, %r20;
	xor.b32 %r6, %r6, %r10;
	xor.b32 %r14, %r14, %r18;
	xor.b32 %r5, %r5, %r6;
	xor.b32 %r5, %r5, %r14;
	add.u64 %rd3, %rd3, %rd7;
	bra LOOP;
END:
	setp.ne.u32 %p1, %r5, 305419896;
	@%p1 bra OUT;
	ld.param.u64 %rd13, [out];
	st.global.u32 [%rd13], %r5;
OUT:
	ret;
}
`

// ceilings measures bandwidth and the peak of bf16.
func (m *meter) ceilings() {
	const blocks, threads = 16, 512 // per multiprocessor; of a block
	grid := blocks * m.splits.multiprocessors / 4
	stride := int64(grid * threads * 4 * 16) // bytes that all threads read at once
	size := stride * max(1, 4<<30/int64(m.scale*m.scale)/stride)
	from, to := m.blank(size), m.take(size)
	copied := m.each(func(int) { m.must(m.stream.Copy(to, 0, from, 0, size)) })
	filled := m.each(func(int) { m.must(m.stream.Fill(to, 0, size, 1)) })
	rate := func(bytes int64, took time.Duration) float64 { return float64(bytes) / took.Seconds() }
	m.bytes = rate(2*size, copied)
	m.t.Logf("| copy | %d MiB, read and written | %.0f GB/s |", size>>20, m.bytes/1e9)
	m.t.Logf("| write | %d MiB | %.0f GB/s |", size>>20, rate(size, filled)/1e9)
	if read := m.read(from, to.Address(), grid, threads); read > 0 {
		m.bytes = rate(size, read)
		m.t.Logf("| read | %d MiB | %.0f GB/s |", size>>20, m.bytes/1e9)
	}
	m.release()
	pinned := m.each(func(int) { m.must(m.stream.Upload(m.staging(), 0, m.pinned, 0, stagingMost)) })
	m.t.Logf("| copy to the device | %d MiB, pinned | %.1f GB/s |", stagingMost>>20, rate(stagingMost, pinned)/1e9)
	m.release()
	n := m.by(8192)
	flops := 2 * math.Pow(float64(n), 3)
	for _, name := range []string{"gemm128", "gemm_wgmma256"} {
		g := gemms[slices.IndexFunc(gemms, func(g gemm) bool { return g.name == name })]
		if !m.kernels.fits(name + "_bf16") {
			m.t.Logf("SKIPPED %s_bf16: this device does not have it", name)
			continue
		}
		reached := flops / m.each(m.product(g, n, n, m.one(2*int64(n)*int64(n)))).Seconds()
		m.t.Logf("| bf16, %s | %d x %d x %d | %.0f TFLOP/s |", name, n, n, n, reached/1e12)
		m.flops = max(m.flops, reached)
		m.release()
	}
}

// read is the time of reading memory; 0 on the emulation, which has kernels of ours only.
func (m *meter) read(from *driver.Memory, out uint64, grid, threads int) time.Duration {
	module, err := m.device.LoadModule([]byte(readPTX))
	m.must(err)
	defer func() { m.must(module.Close()) }()
	f, err := module.Function("read")
	if err != nil {
		m.t.Logf("SKIPPED read: %v", err)
		return 0
	}
	return m.each(func(int) {
		m.must(m.stream.Launch(f, driver.Dim{X: grid}, driver.Dim{X: threads}, 0, []uint64{from.Address(), uint64(from.Size() / 16), out}))
	})
}

// staging is one buffer for copies to the device.
func (m *meter) staging() *driver.Memory {
	if len(m.taken) == 0 {
		m.take(stagingMost)
	}
	return m.taken[0]
}

// one is blank memory, as the only one of those that rotate.
func (m *meter) one(bytes int64) []uint64 { return []uint64{m.blank(bytes).Address()} }

// product is a run of a product of rows x k with matrices k x columns in one launch. w are where the weights can be:
// those of all matrices, one after the other.
func (m *meter) product(g gemm, rows, k int, w []uint64, columns ...int) func(run int) {
	if len(columns) == 0 {
		columns = []int{k}
	}
	name, count, in := g.name+"_bf16", address(m.bed, []int32{int32(rows)}), m.blank(2*int64(rows)*int64(k)).Address()
	if g.maps {
		in = m.tile(gpu.BF16, in, rows, k)
	}
	tiles := g.of(columns...)
	grid, parts := m.splits.productGrid(g, rows, tiles, k), m.splits.product(g, rows, tiles, k)
	var out, n [3]uint64
	weights := make([][3]uint64, len(w))
	from := 0
	for i, c := range columns {
		out[i], n[i] = m.take(4*int64(rows)*int64(c)).Address(), uint64(c)
		for run := range w {
			weights[run][i] = w[run] + uint64(2*from*k)
			if g.maps {
				weights[run][i] = m.tile(gpu.BF16, weights[run][i], c, k)
			}
		}
		from += c
	}
	end := []uint64{uint64(k), 0}
	if g.splits {
		end = append(end, m.take(productWork(g, rows, tiles, k, parts)).Address(), m.counters(tiles*ceilDiv(rows, g.tile)))
	}
	return func(run int) {
		m.start(name, grid, g.block, dynamicShared(name), slices.Concat([]uint64{count, in}, weights[run%len(w)][:], []uint64{0, 0, 0}, out[:], n[:], end)...)
	}
}

// rotating are the addresses of copies of something, so that runs do not find it in the L2
// cache.
func (m *meter) rotating(bytes int64) (list []uint64) {
	copies := max(1, min(64, 4*m.device.Description().L2/bytes))
	memory := m.blank(copies * aligned(bytes))
	for i := range copies {
		list = append(list, memory.Address()+uint64(i*aligned(bytes)))
	}
	return list
}
