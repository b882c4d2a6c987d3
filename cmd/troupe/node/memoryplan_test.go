package node

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/testkit/locked"
)

// The KV type determines the size of the pool, scales included; an unsupported type is
// refused before the weights are loaded.
func TestTypesOfPools(t *testing.T) {
	for _, d := range gpu.KVDTypes() {
		c := settings(t)
		c.KVCacheDType = d.String()
		loaded := false
		n, err := Open(t.Context(), Options{Config: c, Log: zerolog.Nop(), Progress: func(done, total int64) { loaded = true }})
		if err != nil {
			if want := "kv-cache-dtype " + d.String() + ": this device stores K and V in"; !strings.Contains(err.Error(), want) || loaded {
				t.Errorf("%s: %v (weights loaded: %v), want %q", d, err, loaded, want)
			}
			continue
		}
		if err := n.Device.Info().CheckKV(d); err != nil {
			t.Errorf("%s is taken: %v", d, err)
		}
		// The embedded model: 6 layers, 2 KV heads of 32; the pool also has a padding
		// page.
		slots := int64(c.Pool.MaxTotalTokens + c.PageSize)
		if want := 6 * 2 * 2 * int64(d.VectorBytes(32)) * slots; n.KVDType != d || n.Plan.PoolBytes != want || n.Model.Bytes()["kv"] != want {
			t.Errorf("%s: a pool of %s, planned %d bytes, held %d; want %d", d, n.KVDType, n.Plan.PoolBytes, n.Model.Bytes()["kv"], want)
		}
		shut(t, n)
	}
}

// An interrupt while weights are loaded ends the start before the next tensor.
func TestAnInterruptedLoad(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	calls := 0
	n, err := Open(ctx, Options{Config: settings(t), Log: zerolog.Nop(), Progress: func(done, total int64) {
		calls++
		interrupt()
	}})
	if n != nil || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "interrupted while the weights were loaded") || calls == 0 {
		t.Errorf("%v, %v, after %d calls", n, err, calls)
	}
}

// weight-dtype decides the memory of the weights: it is planned before they are loaded,
// logged, and part of the fingerprint.
func TestTypesOfWeights(t *testing.T) {
	bytes := map[string]int64{}
	for _, d := range []string{"auto", "q8_0", "q4_0"} {
		c := settings(t)
		c.CPU.WeightDType = d
		log := &locked.Buffer{}
		n, err := Open(t.Context(), Options{Config: c, Log: zerolog.New(log)})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := n.Device.PlanWeights(n.Checkpoint.Program, n.Checkpoint.Weights)
		bytes[d] = n.Model.Bytes()["weights"]
		if err != nil || plan.Bytes != bytes[d] {
			t.Errorf("%s: planned %d bytes, held %d: %v", d, plan.Bytes, bytes[d], err)
		}
		if told := strings.Contains(log.String(), `"held":"`+d+`"`); told != (d != "auto") {
			t.Errorf("%s: the log says %s", d, log.String())
		}
		if d != "auto" && !strings.Contains(n.Fingerprint(), "matrices="+d) {
			t.Errorf("%s: fingerprint %s", d, n.Fingerprint())
		}
		shut(t, n)
	}
	if bytes["auto"] < bytes["q8_0"]*3/2 || bytes["q8_0"] < bytes["q4_0"]*3/2 {
		t.Errorf("bytes of weights by type: %v", bytes)
	}
}

// If memory is short, the error names the most exact weight type that fits; none if no
// type fits or if something else is wrong.
func TestWhatFits(t *testing.T) {
	n := open(t, settings(t), nil)
	c := n.Config()
	held := func(dtype string) int64 {
		with := *c
		with.CPU.WeightDType = dtype
		d, err := OpenDevice(t.Context(), &with)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := d.PlanWeights(n.Checkpoint.Program, n.Checkpoint.Weights)
		if err != nil {
			t.Fatal(err)
		}
		return plan.Bytes
	}
	for _, tt := range []struct{ room, want string }{{"q8_0", "q8_0"}, {"q4_0", "q4_0"}, {"", ""}} {
		room := int64(0)
		if tt.room != "" {
			// And some for the pool.
			room = held(tt.room) + (held("auto")-held("q8_0"))/8
		}
		c := *c
		c.Pool.MemFraction, c.Pool.MaxRunning, c.Batch.ChunkedPrefillSize, c.Batch.MaxPrefillTokens = 1, 1, 16, 16
		d := DeviceMemory{Before: gpu.Memory{Available: room + workspace(&c, n.Checkpoint.Program, 1)}, WeightBytes: held("auto")}
		_, _, err := PlanMemory(&c, n.Checkpoint, d)
		if err == nil {
			t.Fatalf("%s: %d bytes suffice", tt.room, room)
		}
		want := ". Set weight-dtype " + tt.want
		if tt.want == "" {
			want = ". No setting makes the model fit: use a smaller model, or a machine with more memory"
		}
		if got := err.Error(); !strings.HasSuffix(got, want) {
			t.Errorf("room for %q: %s", tt.room, got)
		}
	}
}

// On a device with memory of its own, the error names the largest step that fits, and what
// others use of the memory.
func TestStepThatFits(t *testing.T) {
	n := open(t, settings(t), nil)
	c := *n.Config()
	c.Pool.MemFraction, c.Pool.MaxRunning, c.Batch.ChunkedPrefillSize = 1, 4096, 4096
	weights := n.Model.Bytes()["weights"]
	for _, tt := range []struct {
		rows  int // for which there is room; 0: none
		taken int64
		want  string
	}{
		{512, 0, ". Set max-running-requests 512 with chunked-prefill-size 512"},
		{64, 0, "with chunked-prefill-size 64"},
		{64, 5 << 20, "not enough memory for the KV pool: mem-fraction-static 1 gives "},
		{64, 5 << 20, "padding page 48.0 KiB. 5.0 MiB of the device's "},
		{0, 0, ". No setting makes the model fit: use a smaller model, or --device cpu"},
	} {
		small := c
		small.Batch.ChunkedPrefillSize = max(tt.rows, 1)
		free := weights + workspace(&small, n.Checkpoint.Program, max(tt.rows, 1)) + 64<<10
		d := DeviceMemory{Before: gpu.Memory{Own: true, Available: free, Total: free + tt.taken}, WeightBytes: weights}
		if tt.rows == 0 {
			d.Before.Available -= 1 << 20
			d.Before.Total = d.Before.Available
		}
		_, _, err := PlanMemory(&c, n.Checkpoint, d)
		if err == nil {
			t.Fatalf("%d rows: %d bytes suffice", tt.rows, free)
		}
		if got := err.Error(); !strings.Contains(got, tt.want) || strings.Contains(got, "in use already") != (tt.taken > 0) {
			t.Errorf("%d rows: %s", tt.rows, got)
		}
	}
}

// Each change that is advised makes the model fit.
func TestAdviceOfAShortage(t *testing.T) {
	n := open(t, settings(t), nil)
	c := *n.Config()
	c.Pool.MemFraction, c.PageSize = 0.5, 64
	need := n.Model.Bytes()["weights"] + workspace(&c, n.Checkpoint.Program, DeviceMemory{}.mostRunning(&c))
	d := DeviceMemory{Before: gpu.Memory{Available: 2 * need, Source: "a limit"}, WeightBytes: n.Model.Bytes()["weights"]}
	_, _, err := PlanMemory(&c, n.Checkpoint, d)
	if err == nil {
		t.Fatal("it fits")
	}
	got := err.Error()
	for _, want := range []string{
		"not enough memory for the KV pool: mem-fraction-static 0.5 gives ", " (a limit), and ", " are needed: weights ", ", workspace ", ", one page of 64 tokens and the padding page ",
		". Set mem-fraction-static 0.5", ", or weight-dtype q8_0, or max-running-requests 64 with chunked-prefill-size ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	c.Pool.MemFraction = 0.52
	if _, _, err := PlanMemory(&c, n.Checkpoint, d); err != nil {
		t.Error(err)
	}
}

// The plan explains the size of K and V of a token, scales included.
func TestPerTokenFrom(t *testing.T) {
	kv := gpu.KVSpec{Layers: 2, Heads: 2, HeadDim: 4}
	for dtype, want := range map[gpu.DType]string{
		gpu.BF16: "2 layers × 2 KV heads × 4 head dim × 2 (K, V) × 2 bytes (kv-cache-dtype)",
		gpu.I8:   "2 layers × 2 KV heads × 2 (K, V) × (4 head dim × 1 bytes + 4 for the scale) (kv-cache-dtype)",
	} {
		if got := perTokenFrom(kv, dtype); got != want {
			t.Errorf("%s: %s, want %s", dtype, got, want)
		}
	}
}
