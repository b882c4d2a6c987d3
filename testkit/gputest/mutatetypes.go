package gputest

import (
	"encoding/binary"
	"fmt"

	"github.com/troupe-engine/troupe/gpu"
)

// places is where the parts of a block are, in bytes [from, to).
type places struct {
	scale, least     int // F16; -1: there is none
	codes, high, sub [2]int
}

var layout = map[gpu.DType]places{
	gpu.Q8_0:   {scale: 0, least: -1, codes: [2]int{2, 34}},
	gpu.Q4_0:   {scale: 0, least: -1, codes: [2]int{2, 18}},
	gpu.Q4_1:   {scale: 0, least: 2, codes: [2]int{4, 20}},
	gpu.Q5_0:   {scale: 0, least: -1, high: [2]int{2, 6}, codes: [2]int{6, 22}},
	gpu.Q5_1:   {scale: 0, least: 2, high: [2]int{4, 8}, codes: [2]int{8, 24}},
	gpu.Q2_K:   {scale: 80, least: 82, sub: [2]int{0, 16}, codes: [2]int{16, 80}},
	gpu.Q3_K:   {scale: 108, least: -1, high: [2]int{0, 32}, codes: [2]int{32, 96}, sub: [2]int{96, 108}},
	gpu.Q4_K:   {scale: 0, least: 2, sub: [2]int{4, 16}, codes: [2]int{16, 144}},
	gpu.Q5_K:   {scale: 0, least: 2, sub: [2]int{4, 16}, high: [2]int{16, 48}, codes: [2]int{48, 176}},
	gpu.Q6_K:   {scale: 208, least: -1, codes: [2]int{0, 128}, high: [2]int{128, 192}, sub: [2]int{192, 208}},
	gpu.IQ4_NL: {scale: 0, least: -1, codes: [2]int{2, 18}},
	gpu.IQ4_XS: {scale: 0, least: -1, high: [2]int{2, 4}, sub: [2]int{4, 8}, codes: [2]int{8, 136}},
}

// scaled multiplies an F16.
func scaled(b []byte, by float32) {
	binary.LittleEndian.PutUint16(b, gpu.ToF16(gpu.FromF16(binary.LittleEndian.Uint16(b))*by))
}

// TypeMutants are a device with one defect each in reading a quantised weight type or in
// rounding K and V. The checks of Mutant.Checks find them.
func TypeMutants(d gpu.Device) []Mutant {
	var list []Mutant
	for _, w := range d.Info().Weights {
		p, ok := layout[w]
		if !ok {
			continue
		}
		blocks := func(change func(b []byte)) func([]byte) {
			return func(row []byte) {
				for ; len(row) > 0; row = row[w.BlockBytes():] {
					change(row[:w.BlockBytes()])
				}
			}
		}
		add := func(name string, row func([]byte)) {
			list = append(list, Mutant{Device: d, Name: fmt.Sprintf("%s: %s", w, name), Checks: fmt.Sprintf("weights/%s/", w), row: row, rowsOf: w})
		}
		// 2 % is above what q8_0 in place of another type may move.
		add("scales off", blocks(func(b []byte) { scaled(b[p.scale:], 1.02) }))
		add("scale of the block before", func(row []byte) {
			for at := len(row) - w.BlockBytes(); at > 0; at -= w.BlockBytes() {
				copy(row[at+p.scale:at+p.scale+2], row[at-w.BlockBytes()+p.scale:])
			}
		})
		add("order of bits in codes", blocks(func(b []byte) {
			for i := p.codes[0]; i < p.codes[1]; i++ {
				if w == gpu.Q8_0 {
					b[i] ^= 0x80 // read as unsigned, less 128
				} else {
					b[i] = b[i]<<4 | b[i]>>4
				}
			}
		}))
		add("neighbours exchanged", blocks(func(b []byte) {
			for i := p.codes[0]; i < p.codes[1]; i += 2 {
				b[i], b[i+1] = b[i+1], b[i]
			}
		}))
		if p.least >= 0 {
			add("minimum off", blocks(func(b []byte) { scaled(b[p.least:], 1.02) }))
		}
		if p.high[1] > 0 {
			add("high bits lost", blocks(func(b []byte) { clear(b[p.high[0]:p.high[1]]) }))
		}
		if p.sub[1] > 0 {
			add("scales of parts exchanged", blocks(func(b []byte) { b[p.sub[0]], b[p.sub[0]+1] = b[p.sub[0]+1], b[p.sub[0]] }))
		}
	}
	for _, kv := range d.Info().KV {
		if kv != gpu.F32 {
			list = append(list, Mutant{Device: d, Name: fmt.Sprintf("KV %s kept in f32", kv), Checks: fmt.Sprintf("kv/%s/", kv),
				pool: func(s gpu.PoolSpec) gpu.PoolSpec { s.DType = gpu.F32; return s }})
		}
	}
	return list
}

// mutantWeights changes each row of the matrices of a type but those of
// embeddings: a device may keep these in a layout that is simpler to read.
type mutantWeights struct {
	gpu.Weights
	mutant Mutant
}

// Tensor implements gpu.Weights.
func (w mutantWeights) Tensor(name string) (gpu.Tensor, error) {
	t, err := w.Weights.Tensor(name)
	if err != nil || t.DType != w.mutant.rowsOf || len(t.Shape) != 2 || name == "embed" || name == "table" {
		return t, err
	}
	t.Data = append([]byte(nil), t.Data...)
	for row, n := t.Data, t.DType.Bytes(t.Shape[1]); len(row) > 0; row = row[n:] {
		w.mutant.row(row[:n])
	}
	return t, nil
}
