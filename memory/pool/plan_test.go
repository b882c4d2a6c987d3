package pool

import (
	"strings"
	"testing"
)

// tiny is a model of 2 layers, 2 KV heads of 4, F32: 128 bytes per token.
func tiny() Facts {
	return Facts{
		AvailableBytes: 1 << 20, AvailableFrom: "cgroup limit", WeightBytes: 100_000, WorkspaceBytes: 20_000,
		BytesPerToken: 128, PerTokenFrom: "2 layers × 2 KV heads × 4 × 2 × 4 bytes", Context: 64,
	}
}

func TestNewPlan(t *testing.T) {
	// Half of 1 MiB less 120,000 is 404,288 bytes: 197 pages of 16 tokens, one
	// of them for padding.
	tests := []struct {
		name     string
		opts     Options
		change   func(*Facts)
		pages    int
		bound    string
		warnings []string
	}{
		{"memory", Options{PageSize: 16}, nil, 196, "mem-fraction-static", nil},
		{"page size 1", Options{PageSize: 1}, nil, 3157, "mem-fraction-static", nil},
		{"all of memory", Options{PageSize: 16, MemFraction: 1}, nil, 452, "mem-fraction-static", nil},
		{"cap lowers, rounded to pages", Options{PageSize: 16, MaxTotalTokens: 1007}, nil, 62, "max-total-tokens", nil},
		{"cap of all that fits", Options{PageSize: 16, MaxTotalTokens: 196 * 16}, nil, 196, "mem-fraction-static", nil},
		{"cap cannot raise", Options{PageSize: 16, MaxTotalTokens: 9999}, nil, 196, "mem-fraction-static",
			[]string{"max-total-tokens 9999 does not fit into memory; using 3136; raise mem-fraction-static to get more"}},
		{"running requests", Options{PageSize: 16, MaxRunning: 3, CapToRunning: true}, nil, 12, "max-running-requests", nil},
		{"running requests round up", Options{PageSize: 16, MaxRunning: 3, CapToRunning: true},
			func(f *Facts) { f.Context = 65 }, 15, "max-running-requests", nil},
		{"64 by default are more than fit", Options{PageSize: 16, CapToRunning: true}, nil, 196, "mem-fraction-static", nil},
		{"an explicit cap replaces that of running", Options{PageSize: 16, MaxRunning: 3, CapToRunning: true, MaxTotalTokens: 320},
			nil, 20, "max-total-tokens", nil},
		{"less than a context", Options{PageSize: 16, MaxTotalTokens: 48}, nil, 3, "max-total-tokens",
			[]string{"the KV pool holds 48 tokens, less than the context length of 64: longer requests are refused; raise max-total-tokens, or lower context-length"}},
		{"just one page", Options{PageSize: 16, MemFraction: 1}, func(f *Facts) { f.AvailableBytes = 120_000 + 2*16*128 }, 1,
			"mem-fraction-static", []string{"the KV pool holds 16 tokens, less than the context length of 64: longer requests are refused; raise mem-fraction-static, or lower context-length"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			facts := tiny()
			if tt.change != nil {
				tt.change(&facts)
			}
			p, err := NewPlan(tt.opts, facts)
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

func TestErrorsNameTheSetting(t *testing.T) {
	tests := []struct {
		name   string
		opts   Options
		change func(*Facts)
		want   []string
	}{
		{"no room", Options{PageSize: 16}, func(f *Facts) { f.AvailableBytes = 2*(120_000+2*16*128) - 2 },
			[]string{"not enough memory for the KV pool: mem-fraction-static 0.5 gives 121.2 KiB of 242.4 KiB (cgroup limit), and 121.2 KiB are needed: " +
				"weights 97.7 KiB, workspace 19.5 KiB, one page of 16 tokens and the padding page 4.0 KiB"}},
		{"weights too big", Options{PageSize: 1}, func(f *Facts) { f.WeightBytes = 3 << 30 }, []string{"weights 3.0 GiB", "mem-fraction-static"}},
		{"fraction", Options{PageSize: 1, MemFraction: 1.5}, nil, []string{"mem-fraction-static is 1.5"}},
		{"negative fraction", Options{PageSize: 1, MemFraction: -1}, nil, []string{"mem-fraction-static is -1"}},
		{"page size", Options{PageSize: 12}, nil, []string{"page-size is 12", "power of two"}},
		{"cap below a page", Options{PageSize: 16, MaxTotalTokens: 15}, nil, []string{"max-total-tokens 15", "page-size"}},
		{"negative cap", Options{PageSize: 16, MaxTotalTokens: -1}, nil, []string{"max-total-tokens is -1"}},
		{"negative running", Options{PageSize: 16, MaxRunning: -1}, nil, []string{"max-running-requests is -1"}},
		{"no KV", Options{PageSize: 16}, func(f *Facts) { f.BytesPerToken = 0 }, []string{"takes 0 bytes"}},
		{"no context", Options{PageSize: 16}, func(f *Facts) { f.Context = 0 }, []string{"the context length is 0"}},
		{"negative memory", Options{PageSize: 16}, func(f *Facts) { f.AvailableBytes = -5 }, []string{"-5 bytes available"}},
		{"huge page", Options{PageSize: 1 << 60}, nil, []string{"too large", "page-size"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			facts := tiny()
			if tt.change != nil {
				tt.change(&facts)
			}
			_, err := NewPlan(tt.opts, facts)
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
