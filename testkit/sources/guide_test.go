package sources

import (
	"testing"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/memory/pool"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/former"
)

// guideModel is the model of the memory guide: 32 layers, 8 KV heads of 128,
// fp16.
var guideModel = gpu.KVSpec{Layers: 32, Heads: 8, HeadDim: 128}

// guideToken is what K and V of one token take.
var guideToken = guideModel.BytesPerToken(gpu.F16)

const gb = 1_000_000_000

// guideBreakdown is the memory of an A100. The guide's pool is what its other
// parts leave, so the fraction is 75 of 80: weights and pool.
func guideBreakdown(t *testing.T, p *printer) {
	const total, weights, activation, workspace = 80 * gb, 15 * gb, 4 * gb, 1 * gb
	facts := pool.Facts{
		AvailableBytes: total, WeightBytes: weights, WorkspaceBytes: activation + workspace, BytesPerToken: guideToken, Context: 32768,
	}
	plan, err := pool.NewPlan(pool.Options{MemFraction: 1, PageSize: 1}, facts)
	if err != nil {
		t.Fatal(err)
	}
	// The same room by the guide's formula, total × fraction - model.
	facts.WorkspaceBytes = 0
	guide, err := pool.NewPlan(pool.Options{MemFraction: 75.0 / 80, PageSize: 1}, facts)
	if err != nil || guide.Pages != plan.Pages {
		t.Errorf("%d pages by the guide's formula, %d by what the parts leave: %v", guide.Pages, plan.Pages, err)
	}
	size := func(tokens int) float64 { return float64(int64(tokens)*guideToken) / gb }
	p.line("Total GPU Memory %dGB", total/gb)
	p.line("Model Weights (static) ~ %dGB", weights/gb)
	p.line("KV Cache Pool (dynamic) ~ %.0fGB", size(plan.Pages))
	pool := newPool(t, plan.Pages)
	for i, bytes := range []int64{2 * gb, 3 * gb / 2, 3 * gb} {
		held := pool.take(int(bytes/guideToken), nil)
		p.line("  Request %d: %.1fGB", i+1, size(len(held)))
	}
	p.line("  Free space: %.1fGB", size(pool.alloc.Free()))
	p.line("Activation Memory (temp) ~ %dGB", activation/gb)
	p.line("Workspace Buffers ~ %dGB", workspace/gb)
}

func guideBytesPerToken(_ *testing.T, p *printer) {
	one := guideToken
	p.line("kv_cache_per_token = %d bytes = %d KB", one, one>>10)
	p.line("10000 tokens = %d bytes", 10_000*one)
	heads := func(name string, n int) {
		all, some := guideModel, guideModel
		all.Heads, some.Heads = 32, n
		bytes := some.BytesPerToken(gpu.F16)
		p.line("%s, %d KV heads: %d bytes, 1/%d", name, n, bytes, all.BytesPerToken(gpu.F16)/bytes)
	}
	heads("MHA", 32)
	heads("GQA", 8)
	heads("MQA", 1)
}

// guideTranslate is the example of prefix sharing.
func guideTranslate(t *testing.T, p *printer) {
	m := newPool(t, 16)
	hello := []int32{1054, 284, 2823, 25, 15496}
	kv1 := m.take(len(hello), nil)
	p.slots("kv1 = ", kv1)
	m.insert(messages.PrefixInsert{Tokens: hello, Pages: kv1})

	goodbye := []int32{1054, 284, 2823, 25, 7197, 29474}
	_, matched := m.tree.Lock("", goodbye, len(goodbye)-1, nil)
	p.slots("matched = ", matched)
	p.line("remaining = %d", len(goodbye)-len(matched))
	kv2 := m.take(len(goodbye)-len(matched), nil)
	p.slots("kv2_new = ", kv2)
	p.slots("kv2 = ", append(append([]messages.Page(nil), matched...), kv2...))
	p.line("Memory Saved: %d tokens * 128 KB = %d KB", len(matched), int64(len(matched))*guideToken>>10)
}

// guidePagedFormat finds token 25 with pages of 16, in a page table that holds
// its pages in order.
func guidePagedFormat(_ *testing.T, p *printer) {
	const pageSize, token = 16, 25
	lease := former.OpenLease(0, messages.PrefixLocked{}, pageSize)
	lease.Grow(from(0, 1, 2))
	slot := (int(lease.Pages[token/pageSize])-1)*pageSize + token%pageSize // pages from 0 on
	p.line("token_idx = %d, page_idx = %d, offset = %d", token, token/pageSize, token%pageSize)
	p.line("physical_page = %d, slot = %d", slot/pageSize, slot)
}
