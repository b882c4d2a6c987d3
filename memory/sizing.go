package memory

import (
	"fmt"
	"math"
)

// DefaultMemFraction and DefaultMaxRunning are the defaults of a CPU device.
const (
	DefaultMemFraction = 0.5
	DefaultMaxRunning  = 64
)

// PoolOptions are the settings that decide the size of the KV pool.
type PoolOptions struct {
	// OwnMemory says that the device has memory of its own and shares it with no
	// other program, as an accelerator does. It changes what zero means for
	// MemFraction (AutoMemFraction) and MaxRunning (AutoMaxRunning).
	OwnMemory bool
	// MemFraction (mem-fraction-static) is the share of the available memory
	// for everything that stays: weights, workspace and KV pool. In (0, 1];
	// zero means DefaultMemFraction. A hard bound. Example: 0.5.
	MemFraction float64
	// StepTokens is the tokens of the biggest step, for AutoMemFraction.
	StepTokens int
	// MaxTotalTokens (max-total-tokens) is a cap on the tokens of the pool,
	// rounded down to pages; zero means none. It can only lower what memory
	// allows: a bigger value gets a warning. Example: 65536.
	MaxTotalTokens int
	// MaxRunning (max-running-requests) is the number of requests that may run
	// at the same time; zero means DefaultMaxRunning. A device with memory of
	// its own lowers it to what AutoMaxRunning gives. Example: 64.
	MaxRunning int
	// CapToRunning limits the pool to MaxRunning contexts, so that a small
	// model does not take half a machine. An explicit MaxTotalTokens replaces
	// this cap. Meant for devices that share memory with other programs.
	CapToRunning bool
	// PageSize (page-size) is the number of tokens in a page: a power of two.
	PageSize int
}

// PoolFacts are what model and device bring along.
type PoolFacts struct {
	// AvailableBytes is the memory that the device could use before the
	// weights were loaded, AvailableFrom how it was found out.
	AvailableBytes int64
	AvailableFrom  string // for people, for example "cgroup limit"
	// AfterLoadBytes is the same measured again with the weights loaded; zero
	// when they are not. It then decides, as it counts what loading really took.
	AfterLoadBytes int64
	WeightBytes    int64
	WorkspaceBytes int64 // activations and logits of the biggest step
	Layers         int
	KVHeads        int // on this device
	HeadDim        int
	ElemBytes      int // of kv-cache-dtype
	ScaleBytes     int // that a K or V of one head takes besides its elements; zero without scales
	Context        int // tokens that a request may have
}

// BytesPerToken is what one token's K and V take on all layers.
func (f PoolFacts) BytesPerToken() int64 {
	return int64(f.Layers) * int64(f.KVHeads) * 2 * (int64(f.HeadDim)*int64(f.ElemBytes) + int64(f.ScaleBytes))
}

// Figure is one line of a memory plan.
type Figure struct {
	Name  string `json:"name"` // a stable word
	Value int64  `json:"value"`
	Unit  string `json:"unit"` // bytes, tokens, pages or requests
	From  string `json:"from"` // how it came about
}

// PoolPlan is how big the pool becomes, and why.
type PoolPlan struct {
	Pages     int   `json:"pages"`      // usable; page 0 comes on top
	Tokens    int   `json:"tokens"`     // Pages times page size
	PoolBytes int64 `json:"pool_bytes"` // with page 0
	// MaxRunning is how many requests may run at once.
	MaxRunning int `json:"max_running_requests"`
	// Bound names the setting that decided: mem-fraction-static,
	// max-total-tokens or max-running-requests.
	Bound    string   `json:"bound"`
	Figures  []Figure `json:"figures"`            // every number used, in the order of the calculation
	Warnings []string `json:"warnings,omitempty"` // for the log
}

// PlanPool sizes the KV pool. An error names the setting to change.
//
// Two formulas are in use for the room of the pool, SGLang's and that of its
// memory guide:
//
//	remainder  after loading - available × (1 - fraction)
//	guide      available × fraction - weights
//
// They differ by what loading takes beyond the weights. Once it is measured the
// remainder binds; before, there is only the guide. Both leave out the
// workspace.
func PlanPool(opts PoolOptions, facts PoolFacts) (PoolPlan, error) {
	asked, automatic := opts.MaxRunning, opts.MemFraction == 0
	switch {
	case !automatic:
	case opts.OwnMemory:
		opts.MemFraction = AutoMemFraction(facts.AvailableBytes, opts.StepTokens, 0, 1)
	default:
		opts.MemFraction = DefaultMemFraction
	}
	if opts.MaxRunning == 0 {
		opts.MaxRunning = DefaultMaxRunning
	}
	if err := checkPool(opts, facts); err != nil {
		return PoolPlan{}, err
	}
	p := PoolPlan{Bound: "mem-fraction-static"}
	perToken := facts.BytesPerToken()
	perPage := perToken * int64(opts.PageSize)
	static := int64(float64(facts.AvailableBytes) * opts.MemFraction)
	room, from := static-facts.WeightBytes-facts.WorkspaceBytes, "static - weights - workspace"
	how := ""
	if automatic {
		how = ", the device's default"
	}
	p.add("available", facts.AvailableBytes, "bytes", facts.AvailableFrom)
	p.add("static", static, "bytes", fmt.Sprintf("available × mem-fraction-static %g%s", opts.MemFraction, how))
	p.add("weights", facts.WeightBytes, "bytes", "the model")
	p.add("workspace", facts.WorkspaceBytes, "bytes", "the biggest step")
	if facts.AfterLoadBytes > 0 {
		p.add("kv_room_by_guide", max(room, 0), "bytes", from)
		p.add("after_load", facts.AfterLoadBytes, "bytes", "available with the weights loaded")
		room, from = facts.AfterLoadBytes-(facts.AvailableBytes-static)-facts.WorkspaceBytes, "after_load - (available - static) - workspace"
	}
	p.add("kv_room", max(room, 0), "bytes", from)
	p.add("kv_per_token", perToken, "bytes", perTokenFrom(facts))
	p.add("kv_per_page", perPage, "bytes", fmt.Sprintf("kv_per_token × page-size %d", opts.PageSize))

	// One page is for padding. Page numbers are int32.
	pages := min(room/perPage-1, math.MaxInt32-2)
	if pages < 1 {
		return PoolPlan{}, fmt.Errorf("the KV pool has no room for a page of %d tokens: "+
			"%s available (%s) × %g is %s, weights take %s and workspace %s of it, and a page and the padding page need %s, so that %s are missing; "+
			"raise mem-fraction-static, lower page-size or chunked-prefill-size, or choose a smaller kv-cache-dtype or model%s",
			opts.PageSize, size(facts.AvailableBytes), facts.AvailableFrom, opts.MemFraction, size(static),
			size(facts.WeightBytes), size(facts.WorkspaceBytes), size(2*perPage), size(2*perPage-room), measured(facts))
	}
	p.add("pages_by_memory", pages, "pages", "kv_room / kv_per_page, less one for padding")
	fits := pages * int64(opts.PageSize)
	if opts.MaxTotalTokens > 0 {
		asked := int64(opts.MaxTotalTokens)
		p.add("tokens_by_setting", asked, "tokens", "max-total-tokens")
		switch {
		case asked < int64(opts.PageSize):
			return PoolPlan{}, fmt.Errorf("max-total-tokens %d is less than one page of %d tokens; raise it or lower page-size",
				asked, opts.PageSize)
		case asked > fits:
			p.Warnings = append(p.Warnings, fmt.Sprintf("max-total-tokens %d is more than fits into memory; using %d (raise mem-fraction-static for more)", asked, fits))
		case asked/int64(opts.PageSize) < pages:
			pages, p.Bound = asked/int64(opts.PageSize), "max-total-tokens"
		}
	} else if opts.CapToRunning {
		most := int64(opts.MaxRunning) * int64(PagesFor(facts.Context, opts.PageSize))
		p.add("pages_by_running", most, "pages", fmt.Sprintf("max-running-requests %d × context %d in pages", opts.MaxRunning, facts.Context))
		if most < pages {
			pages, p.Bound = most, "max-running-requests"
		}
	}
	p.MaxRunning = opts.MaxRunning
	if opts.OwnMemory {
		p.MaxRunning = AutoMaxRunning(int(pages)*opts.PageSize, facts.Context, asked)
		if asked > p.MaxRunning {
			p.Warnings = append(p.Warnings, fmt.Sprintf("max-running-requests %d is more than a pool of %d tokens is made for; using %d", asked, int(pages)*opts.PageSize, p.MaxRunning))
		}
	}
	p.Pages, p.Tokens, p.PoolBytes = int(pages), int(pages)*opts.PageSize, (pages+1)*perPage
	p.add("pages", pages, "pages", p.Bound)
	p.add("tokens", int64(p.Tokens), "tokens", fmt.Sprintf("pages × page-size %d", opts.PageSize))
	p.add("max_running_requests", int64(p.MaxRunning), "requests", runningFrom(opts, asked))
	p.add("kv_pool", p.PoolBytes, "bytes", "pages and one padding page × kv_per_page")
	if p.Tokens < facts.Context {
		p.Warnings = append(p.Warnings, fmt.Sprintf("the KV pool holds %d tokens, less than one context of %d: longer requests are refused; "+
			"raise %s or lower context-length", p.Tokens, facts.Context, p.Bound))
	}
	return p, nil
}

func (p *PoolPlan) add(name string, value int64, unit, from string) {
	p.Figures = append(p.Figures, Figure{name, value, unit, from})
}

func checkPool(o PoolOptions, f PoolFacts) error {
	switch {
	case !(o.MemFraction > 0 && o.MemFraction <= 1):
		return fmt.Errorf("mem-fraction-static is %g; it must be above 0 and at most 1", o.MemFraction)
	case !ValidPageSize(o.PageSize):
		return fmt.Errorf("page-size is %d; it must be a power of two, such as 1, 16 or 64", o.PageSize)
	case o.MaxTotalTokens < 0:
		return fmt.Errorf("max-total-tokens is %d; it must be positive, or 0 for no cap", o.MaxTotalTokens)
	case o.MaxRunning < 0:
		return fmt.Errorf("max-running-requests is %d; it must be positive, or 0 for %d", o.MaxRunning, DefaultMaxRunning)
	case f.Layers < 1 || f.KVHeads < 1 || f.HeadDim < 1 || f.ElemBytes < 1 || f.ScaleBytes < 0 || f.Context < 1:
		return fmt.Errorf("the model has %d layers, %d KV heads of %d and a context of %d with KV elements of %d bytes and scales of %d; each must be positive, scales may be 0",
			f.Layers, f.KVHeads, f.HeadDim, f.Context, f.ElemBytes, f.ScaleBytes)
	case f.BytesPerToken() > math.MaxInt64/int64(2*o.PageSize) || f.BytesPerToken() < 1:
		return fmt.Errorf("a page of %d tokens of this model is too big to count; lower page-size", o.PageSize)
	case f.AvailableBytes < 0 || f.AfterLoadBytes < 0 || f.WeightBytes < 0 || f.WorkspaceBytes < 0:
		return fmt.Errorf("negative memory: %d bytes available, %d after loading, %d for weights, %d for workspace",
			f.AvailableBytes, f.AfterLoadBytes, f.WeightBytes, f.WorkspaceBytes)
	}
	return nil
}

// perTokenFrom says what one token's K and V are made of.
func perTokenFrom(f PoolFacts) string {
	if f.ScaleBytes == 0 {
		return fmt.Sprintf("%d layers × %d KV heads × %d head dim × 2 (K, V) × %d bytes (kv-cache-dtype)", f.Layers, f.KVHeads, f.HeadDim, f.ElemBytes)
	}
	return fmt.Sprintf("%d layers × %d KV heads × 2 (K, V) × (%d head dim × %d bytes + %d of the scale) (kv-cache-dtype)",
		f.Layers, f.KVHeads, f.HeadDim, f.ElemBytes, f.ScaleBytes)
}

// runningFrom says where the number of running requests comes from.
func runningFrom(o PoolOptions, asked int) string {
	switch {
	case o.OwnMemory:
		return "512 per context that fits, 2048 to 4096; at most half the tokens, or the setting"
	case asked > 0:
		return "max-running-requests"
	}
	return "the device's default"
}

// measured explains a lack of room that the weights alone do not.
func measured(f PoolFacts) string {
	if f.AfterLoadBytes == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s were left with the weights loaded)", size(f.AfterLoadBytes))
}

// size writes bytes for people.
func size(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	v, i := float64(n)/unit, 0
	for ; v >= unit && i < 3; i++ {
		v /= unit
	}
	return fmt.Sprintf("%.1f %ciB", v, "KMGT"[i])
}
