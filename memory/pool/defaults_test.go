package pool

import "testing"

func TestAutoMemFraction(t *testing.T) {
	// The devices and values that SGLang's formula is known by, with its chunk
	// and graph sizes for them.
	for _, tt := range []struct {
		name         string
		mib          int64
		chunk, graph int
		want         float64
	}{
		{"H200", 143771, 8192, 256, 0.907},
		{"H100 80G", 81559, 8192, 256, 0.835},
		{"A100 40G", 40960, 4096, 32, 0.833},
		{"24G", 24576, 2048, 24, 0.847},
		{"16G", 15360, 2048, 8, 0.757},
		{"floor above 60 GiB", 81559, 2048, 8, 0.874},
		{"a chunk below 2048 counts as one", 24576, 512, 24, 0.847},
		{"unknown", 0, 2048, 8, 0.88},
		{"smaller than the reserve", 1024, 2048, 8, 0.1},
	} {
		if got := AutoMemFraction(tt.mib<<20, tt.chunk, tt.graph, 1); got != tt.want {
			t.Errorf("%s: %g, want %g", tt.name, got, tt.want)
		}
	}
	if one, two := AutoMemFraction(40960<<20, 4096, 32, 1), AutoMemFraction(40960<<20, 4096, 32, 2); one-two < 0.002 {
		t.Errorf("a second rank takes the share from %g to %g, want 128 MiB less", one, two)
	}
}

func TestAutoMaxRunning(t *testing.T) {
	for _, tt := range []struct{ tokens, context, asked, want int }{
		{400_000, 131_072, 0, 2048},      // 512 per context is 1562
		{1_000_000, 131_072, 0, 3906},    // between the bounds
		{10_000_000, 131_072, 0, 4096},   // above
		{1000, 131_072, 0, 500},          // half of the tokens
		{1, 131_072, 0, 1},               // at least one
		{1_000_000, 131_072, 5000, 3906}, // a wish only lowers
		{1_000_000, 131_072, 100, 100},
	} {
		if got := AutoMaxRunning(tt.tokens, tt.context, tt.asked); got != tt.want {
			t.Errorf("%+v: %d", tt, got)
		}
	}
}

// The two sizing formulas of the source documents, on one device of 80 GiB with
// 15 GiB of weights and mem-fraction-static 0.85. Loading took 1.5 GiB beyond
// the weights.
func TestMeasuredRemainderBinds(t *testing.T) {
	const gib = 1 << 30
	facts := Facts{
		AvailableBytes: 80 * gib, AvailableFrom: "device", WeightBytes: 15 * gib,
		BytesPerToken: 128 << 10, PerTokenFrom: "32 layers × 8 KV heads × 128 × 2 × 2 bytes", Context: 8192,
	}
	opts := Options{OwnMemory: true, MemFraction: 0.85, PageSize: 1}
	guide, err := NewPlan(opts, facts)
	if err != nil {
		t.Fatal(err)
	}
	facts.AfterLoadBytes = 635 * gib / 10
	measured, err := NewPlan(opts, facts)
	if err != nil {
		t.Fatal(err)
	}
	// 80 × 0.85 - 15 = 53 GiB and 63.5 - 80 × 0.15 = 51.5 GiB of 128 KiB a token,
	// less the padding page.
	if guide.Tokens != 53*8192-1 || measured.Tokens != 515*8192/10-1 {
		t.Errorf("guide %d tokens, measured %d", guide.Tokens, measured.Tokens)
	}
	room := map[string]int64{}
	for _, f := range measured.Figures {
		room[f.Name] = f.Value
	}
	if d := room["kv_room_by_guide"] - room["kv_room"]; d < 15*gib/10-1024 || d > 15*gib/10+1024 {
		t.Errorf("the plan shows a difference of %d bytes, want 1.5 GiB", d)
	}
	if measured.MaxRunning != 4096 || guide.MaxRunning != 4096 {
		t.Errorf("%d and %d running requests", guide.MaxRunning, measured.MaxRunning)
	}
}
