package fakemodel

import (
	"math/rand/v2"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

func BenchmarkDecodeStep(b *testing.B) {
	opt := Options{PageSize: 16, Pages: 4096, MaxRows: 64, Vocab: 512}
	d := &driver{t: b, e: New(opt)}
	open := &messages.RunBatch{}
	rng := rand.New(rand.NewPCG(1, 2))
	per := 60
	for r := range messages.Row(64) {
		in := prompt(256, rng.Int(), 512)
		open.Opened = append(open.Opened, messages.RowOpened{Row: r, Request: &messages.EngineRequest{Prompt: in, Params: plain(1000)}})
		open.Grown = append(open.Grown, messages.RowGrown{Row: r, Pages: pages(1+int(r)*per, per)})
		open.Work = append(open.Work, messages.RowWork{Row: r, Count: 256, Sample: 1})
	}
	d.must(open)
	at := 256
	for b.Loop() {
		step := &messages.RunBatch{}
		if at == per*16 { // full: start over
			d.e.Reset(nil)
			d.step, at = 0, 256
			d.must(open)
		}
		for r := range messages.Row(64) {
			step.Work = append(step.Work, messages.RowWork{Row: r, Start: at, Count: 1, Sample: 1})
		}
		d.must(step)
		at++
	}
}
