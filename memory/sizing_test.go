package memory

import (
	"slices"
	"strings"
	"testing"
)

// tiny is a model of 2 layers, 2 KV heads of 4, F32: 128 bytes per token.
func tiny() PoolFacts {
	return PoolFacts{
		AvailableBytes: 1 << 20, AvailableFrom: "cgroup limit", WeightBytes: 100_000, WorkspaceBytes: 20_000,
		Layers: 2, KVHeads: 2, HeadDim: 4, ElemBytes: 4, Context: 64,
	}
}

func TestPlanPool(t *testing.T) {
	// Half of 1 MiB less 120,000 is 404,288 bytes: 197 pages of 16 tokens, one
	// of them for padding.
	tests := []struct {
		name     string
		opts     PoolOptions
		change   func(*PoolFacts)
		pages    int
		bound    string
		warnings []string
	}{
		{"memory", PoolOptions{PageSize: 16}, nil, 196, "mem-fraction-static", nil},
		{"page size 1", PoolOptions{PageSize: 1}, nil, 3157, "mem-fraction-static", nil},
		{"all of memory", PoolOptions{PageSize: 16, MemFraction: 1}, nil, 452, "mem-fraction-static", nil},
		{"cap lowers, rounded to pages", PoolOptions{PageSize: 16, MaxTotalTokens: 1007}, nil, 62, "max-total-tokens", nil},
		{"cap of all that fits", PoolOptions{PageSize: 16, MaxTotalTokens: 196 * 16}, nil, 196, "mem-fraction-static", nil},
		{"cap cannot raise", PoolOptions{PageSize: 16, MaxTotalTokens: 9999}, nil, 196, "mem-fraction-static",
			[]string{"max-total-tokens 9999 is more than fits into memory; using 3136 (raise mem-fraction-static for more)"}},
		{"running requests", PoolOptions{PageSize: 16, MaxRunning: 3, CapToRunning: true}, nil, 12, "max-running-requests", nil},
		{"running requests round up", PoolOptions{PageSize: 16, MaxRunning: 3, CapToRunning: true},
			func(f *PoolFacts) { f.Context = 65 }, 15, "max-running-requests", nil},
		{"64 by default are more than fit", PoolOptions{PageSize: 16, CapToRunning: true}, nil, 196, "mem-fraction-static", nil},
		{"an explicit cap replaces that of running", PoolOptions{PageSize: 16, MaxRunning: 3, CapToRunning: true, MaxTotalTokens: 320},
			nil, 20, "max-total-tokens", nil},
		{"less than a context", PoolOptions{PageSize: 16, MaxTotalTokens: 48}, nil, 3, "max-total-tokens",
			[]string{"the KV pool holds 48 tokens, less than one context of 64: longer requests are refused; raise max-total-tokens or lower context-length"}},
		{"just one page", PoolOptions{PageSize: 16, MemFraction: 1}, func(f *PoolFacts) { f.AvailableBytes = 120_000 + 2*16*128 }, 1,
			"mem-fraction-static", []string{"the KV pool holds 16 tokens, less than one context of 64: longer requests are refused; raise mem-fraction-static or lower context-length"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			facts := tiny()
			if tt.change != nil {
				tt.change(&facts)
			}
			p, err := PlanPool(tt.opts, facts)
			if err != nil {
				t.Fatal(err)
			}
			if p.Pages != tt.pages || p.Tokens != tt.pages*tt.opts.PageSize || p.Bound != tt.bound ||
				p.PoolBytes != int64(tt.pages+1)*int64(tt.opts.PageSize)*128 {
				t.Errorf("%d pages, %d tokens, %d bytes by %s; want %d pages by %s", p.Pages, p.Tokens, p.PoolBytes, p.Bound, tt.pages, tt.bound)
			}
			if strings.Join(p.Warnings, "|") != strings.Join(tt.warnings, "|") {
				t.Errorf("warnings %q", p.Warnings)
			}
			used := map[string]int64{}
			for _, f := range p.Figures {
				if f.Name == "" || f.Unit == "" || f.From == "" {
					t.Errorf("figure without origin: %+v", f)
				}
				used[f.Name] = f.Value
			}
			if used["kv_per_token"] != 128 || used["pages"] != int64(tt.pages) || used["kv_pool"] != p.PoolBytes {
				t.Errorf("figures %v", p.Figures)
			}
			if sum := used["weights"] + used["workspace"] + used["kv_pool"]; sum > used["static"] {
				t.Errorf("the parts take %d of %d bytes", sum, used["static"])
			}
		})
	}
}

// Elements of one byte with a scale of four for each K and V of 4: 2 layers x
// 2 heads x 2 x 8 bytes a token.
func TestScalesCountInThePlan(t *testing.T) {
	facts := tiny()
	facts.ElemBytes, facts.ScaleBytes = 1, 4
	p, err := PlanPool(PoolOptions{PageSize: 16, MaxTotalTokens: 160}, facts)
	if err != nil {
		t.Fatal(err)
	}
	if p.PoolBytes != 11*16*64 {
		t.Errorf("10 pages and the padding page take %d bytes, want %d", p.PoolBytes, 11*16*64)
	}
	i := slices.IndexFunc(p.Figures, func(f Figure) bool { return f.Name == "kv_per_token" })
	if f := p.Figures[i]; f.Value != 64 || !strings.Contains(f.From, "(4 head dim × 1 bytes + 4 of the scale)") {
		t.Errorf("figure %+v", f)
	}
}

func TestPlanPoolErrorsNameTheSetting(t *testing.T) {
	tests := []struct {
		name   string
		opts   PoolOptions
		change func(*PoolFacts)
		want   []string
	}{
		{"no room", PoolOptions{PageSize: 16}, func(f *PoolFacts) { f.AvailableBytes = 2*(120_000+2*16*128) - 2 },
			[]string{"no room for a page of 16 tokens", "cgroup limit", "weights take 97.7 KiB", "need 4.0 KiB", "raise mem-fraction-static"}},
		{"weights too big", PoolOptions{PageSize: 1}, func(f *PoolFacts) { f.WeightBytes = 3 << 30 }, []string{"weights take 3.0 GiB", "mem-fraction-static"}},
		{"fraction", PoolOptions{PageSize: 1, MemFraction: 1.5}, nil, []string{"mem-fraction-static is 1.5"}},
		{"negative fraction", PoolOptions{PageSize: 1, MemFraction: -1}, nil, []string{"mem-fraction-static is -1"}},
		{"page size", PoolOptions{PageSize: 12}, nil, []string{"page-size is 12", "power of two"}},
		{"cap below a page", PoolOptions{PageSize: 16, MaxTotalTokens: 15}, nil, []string{"max-total-tokens 15", "page-size"}},
		{"negative cap", PoolOptions{PageSize: 16, MaxTotalTokens: -1}, nil, []string{"max-total-tokens is -1"}},
		{"negative running", PoolOptions{PageSize: 16, MaxRunning: -1}, nil, []string{"max-running-requests is -1"}},
		{"no layers", PoolOptions{PageSize: 16}, func(f *PoolFacts) { f.Layers = 0 }, []string{"0 layers"}},
		{"negative memory", PoolOptions{PageSize: 16}, func(f *PoolFacts) { f.AvailableBytes = -5 }, []string{"-5 bytes available"}},
		{"huge page", PoolOptions{PageSize: 1 << 60}, nil, []string{"too big", "page-size"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			facts := tiny()
			if tt.change != nil {
				tt.change(&facts)
			}
			_, err := PlanPool(tt.opts, facts)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
}
