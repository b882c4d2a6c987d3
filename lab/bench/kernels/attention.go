package kernels

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"unsafe"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/attn"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/lab/ggufwrite"
)

// A KV head of a model of 1.5 billion parameters, and a context of a long chat.
const (
	headDim     = 128
	headGroup   = 6 // query heads of a KV head
	context     = 4096
	queryTokens = 12 // attend together in a prefill, as on the device
)

// kvTypes are the types of K and V. Plain Go reads float32 only.
var kvTypes = []gpu.DType{gpu.F32, gpu.BF16, gpu.F16, gpu.I8}

// cache is memory of a KV pool with one layer and one head, in pages of a block.
type cache struct {
	dtype  gpu.DType
	memory []byte
	blocks int
	next   int
}

func newCache(dtype gpu.DType, memory []byte) (*cache, error) {
	c := &cache{dtype: dtype}
	block, scales := c.blockBytes(), 0
	if dtype == gpu.I8 {
		scales = 2 * attn.BlockSlots * 4
	}
	// The last block's values are read a vector too far.
	if c.blocks = (len(memory) - 256) / (block + scales); c.blocks < 2*context/attn.BlockSlots {
		return nil, fmt.Errorf("--read-bytes is %d, too small for two contexts of %d positions, which take %d; raise it", len(memory), context, 2*context/attn.BlockSlots*(block+scales))
	}
	scales *= c.blocks
	c.memory = memory[:scales+c.blocks*block+256]
	if scales > 0 {
		all := unsafe.Slice((*float32)(unsafe.Pointer(&memory[0])), scales/4)
		for i := range all {
			all[i] = 1.0 / 64
		}
	}
	elements := c.memory[scales:]
	if err := fillKV(dtype, elements[:block]); err != nil {
		return nil, err
	}
	for done := block; done < len(elements); done *= 2 {
		copy(elements[done:], elements[:done])
	}
	return c, nil
}

// fillKV writes random elements of about 1.
func fillKV(dtype gpu.DType, block []byte) error {
	if dtype == gpu.I8 { // with a scale for each position
		rand.NewChaCha8([32]byte{3}).Read(block)
		return nil
	}
	var elements bytes.Buffer
	err := ggufwrite.Random(dtype, int64(len(block)/dtype.Bytes(1)), 0, 1, 3)(&elements)
	copy(block, elements.Bytes())
	return err
}

func (c *cache) blockBytes() int { return c.dtype.Bytes(2 * attn.BlockSlots * headDim) }

// attention is the last tokens of a sequence for one KV head. It counts a
// multiplication and an addition for each element of K and V and each query.
func (c *cache) attention(l simd.Level, tokens int) (Case, error) {
	name := "attention decode"
	if tokens > 1 {
		name = "attention prefill"
	}
	k := Case{
		Level: l, Kernel: name, Form: c.dtype.String(), Tokens: tokens, Shape: fmt.Sprintf("%d x %d, %d heads", context, headDim, headGroup),
		Bytes: float64(context / attn.BlockSlots * c.blockBytes()), Operations: 4 * context * headDim * headGroup * float64(tokens),
		Cold: true, Limit: MultiplyAdd,
	}
	p := &gpu.Program{
		KV:      gpu.KVSpec{Layers: 1, Heads: 1, HeadDim: headDim},
		Buffers: []gpu.BufferSpec{{Name: "q", Width: headGroup * headDim}, {Name: "out", Width: headGroup * headDim}},
		Ops:     []gpu.Op{gpu.Attention{Q: 0, Out: 1, Heads: headGroup, Scale: float32(1 / math.Sqrt(headDim))}},
	}
	spec := gpu.PoolSpec{Pages: c.blocks - 1, PageSize: attn.BlockSlots, DType: c.dtype, Layout: gpu.Paged}
	ops, err := cpu.NewOps(p, layout.F32, spec, c.memory, cpu.Options{Threads: 1, InstructionSet: l.String()})
	if err != nil {
		return k, err
	}
	pages := make([]int32, context/attn.BlockSlots)
	ops.Prepare(context-tokens, tokens, pages)
	copy(ops.Buffer(0), normal(tokens*headGroup*headDim))
	k.y, k.Do = ops.Buffer(1), func() {
		for i := range pages {
			pages[i] = int32((c.next + i) % c.blocks)
		}
		c.next += len(pages)
		ops.Run()
	}
	return k, nil
}
