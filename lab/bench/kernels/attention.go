package kernels

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"unsafe"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/attn"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/convert"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/layout"
	"github.com/troupe-engine/troupe/gpu/cpu/kernel/simd"
	"github.com/troupe-engine/troupe/model/gguf/gguftest"
)

// A KV head of a model of 1.5 billion parameters, and a context of a long chat.
const (
	headDim   = 128
	headGroup = 6 // query heads of a KV head
	context   = 4096
	// queryTokens attend together in a prefill, as the device has it.
	queryTokens = 12
)

// kvForm is a type of K and V.
type kvForm struct {
	name  string
	kind  attn.KV
	bytes int       // of an element
	dtype gpu.DType // not of int8
}

// kvForms are all of them. Plain Go reads float32 only.
var kvForms = []kvForm{{"f32", attn.F32, 4, gpu.F32}, {"bf16", attn.BF16, 2, gpu.BF16}, {"f16", attn.F16, 2, gpu.F16}, {name: "int8", kind: attn.I8, bytes: 1}}

// cache is a pool of K and V for one KV head: blocks of 64 positions, keys
// first.
type cache struct {
	kvForm
	memory []byte
	run    int // bytes of 16 positions of K, or V
	blocks int
	next   int
	scales []float32 // of attn.I8
}

func newCache(form kvForm, memory []byte) (*cache, error) {
	c := &cache{kvForm: form, run: attn.RunSlots * headDim * form.bytes}
	block := c.blockBytes()
	// The last block's values are read a vector too far.
	if c.blocks = (len(memory) - 256) / block; c.blocks < 2*context/attn.BlockSlots {
		return nil, fmt.Errorf("%d bytes are too few for two contexts of %d positions, which take %d; use more", len(memory), context, 2*context/attn.BlockSlots*block)
	}
	c.memory = memory[:c.blocks*block+256]
	if err := form.fill(c.memory[:block]); err != nil {
		return nil, err
	}
	for done := block; done < len(c.memory); done *= 2 {
		copy(c.memory[done:], c.memory[:done])
	}
	if form.kind == attn.I8 {
		c.scales = make([]float32, attn.BlockSlots)
		for i := range c.scales {
			c.scales[i] = 1.0 / 64
		}
	}
	return c, nil
}

// fill writes random elements of about 1.
func (f kvForm) fill(block []byte) error {
	if f.kind == attn.I8 { // with a scale for each position
		rand.NewChaCha8([32]byte{3}).Read(block)
		return nil
	}
	var elements bytes.Buffer
	err := gguftest.Random(f.dtype, int64(len(block)/f.bytes), 0, 1, 3)(&elements)
	copy(block, elements.Bytes())
	return err
}

func (c *cache) blockBytes() int { return 2 * attn.BlockSlots / attn.RunSlots * c.run }

// block is the position of block i, modulo their number.
func (c *cache) block(i int) (keys, values attn.Runs) {
	at := i % c.blocks * c.blockBytes()
	following := (i + 1) % c.blocks * c.blockBytes()
	half := len(keys) * c.run
	for j := range keys {
		keys[j] = attn.Run{At: at + j*c.run, Ahead: at + half + j*c.run}
		values[j] = attn.Run{At: at + half + j*c.run, Ahead: following + j*c.run}
	}
	return keys, values
}

// rows is the state of queries.
type rows struct {
	q, scores, acc, peaks, totals, shrinks []float32
	seen                                   []int32
}

func newRows(n int) *rows {
	r := &rows{
		q: normal(n * headDim), scores: make([]float32, n*attn.BlockSlots), acc: make([]float32, n*attn.AccWidth(headDim)),
		peaks: make([]float32, n), totals: make([]float32, n), shrinks: make([]float32, n), seen: make([]int32, n),
	}
	for i := range r.seen {
		r.seen[i] = attn.BlockSlots
	}
	return r
}

func (r *rows) reset() {
	clear(r.acc)
	clear(r.totals)
	for i := range r.peaks {
		r.peaks[i] = attn.NoScore
	}
}

// attend adds a block to rows [from, from+n).
func (r *rows) attend(l simd.Level, kind attn.KV, base *byte, keys, values *attn.Runs, scales []float32, from, n int) {
	const runs, width = attn.BlockSlots / attn.RunSlots, headDim // AccWidth of 128
	scores, acc := r.scores[from*attn.BlockSlots:][:n*attn.BlockSlots], r.acc[from*width:][:n*width]
	attn.Scores(l, kind, r.q[from*headDim:], headDim, n, base, keys, runs, headDim, scores)
	attn.Softmax(l, scores, r.seen[from:from+n], float32(1/math.Sqrt(headDim)), scales, scales,
		attn.Weights{Max: r.peaks[from:], Sums: r.totals[from:], Rescale: r.shrinks[from:]})
	for i, shrink := range r.shrinks[from : from+n] {
		if shrink != 1 {
			attn.Scale(l, acc[i*width:][:width], acc[i*width:], shrink)
		}
	}
	attn.Values(l, kind, scores, n, base, values, 0, attn.BlockSlots, headDim, acc)
}

// decode is one token of a sequence for one KV head.
func (c *cache) decode(l simd.Level) Case {
	r := newRows(headGroup)
	do := func() {
		r.reset()
		for range context / attn.BlockSlots {
			keys, values := c.block(c.next)
			c.next++
			r.attend(l, c.kind, &c.memory[0], &keys, &values, c.scales, 0, headGroup)
		}
	}
	return c.attention(l, "attention decode", 1, do)
}

// prefill is some tokens of a prompt for one KV head: blocks are widened once
// for all of them.
func (c *cache) prefill(l simd.Level) Case {
	r := newRows(headGroup * queryTokens)
	wide := make([]float32, c.blockBytes()/c.bytes+64)
	base := (*byte)(unsafe.Pointer(&wide[0]))
	flat := cache{run: attn.RunSlots * headDim * 4, blocks: 1}
	do := func() {
		r.reset()
		for range context / attn.BlockSlots {
			at := c.next % c.blocks * c.blockBytes()
			c.next++
			c.widen(l, wide[:len(wide)-64], c.memory[at:at+c.blockBytes()])
			keys, values := flat.block(0)
			for g := range headGroup {
				r.attend(l, attn.F32, base, &keys, &values, c.scales, g*queryTokens, queryTokens)
			}
		}
	}
	return c.attention(l, "attention prefill", queryTokens, do)
}

func (c *cache) widen(l simd.Level, out []float32, block []byte) {
	p := unsafe.Pointer(&block[0])
	switch c.kind {
	case attn.F32:
		copy(out, unsafe.Slice((*float32)(p), len(out)))
	case attn.I8:
		convert.WidenI8(l, out, unsafe.Slice((*int8)(p), len(out)))
	case attn.F16:
		convert.Widen(l, layout.F16, out, unsafe.Slice((*uint16)(p), len(out)))
	default:
		convert.Widen(l, layout.BF16, out, unsafe.Slice((*uint16)(p), len(out)))
	}
}

// attention counts a multiplication and an addition for each element of K and
// V and each query.
func (c *cache) attention(l simd.Level, name string, tokens int, do func()) Case {
	return Case{
		Level: l, Kernel: name, Form: c.name, Tokens: tokens, Shape: fmt.Sprintf("%d x %d, %d heads", context, headDim, headGroup),
		Bytes: float64(context / attn.BlockSlots * c.blockBytes()), Operations: 4 * context * headDim * headGroup * float64(tokens),
		Cold: true, Limit: MultiplyAdd, Do: do,
	}
}
