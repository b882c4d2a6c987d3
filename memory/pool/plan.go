package pool

import (
	"fmt"
	"math"

	"github.com/troupe-engine/troupe/internal/paging"
)

// Options are the settings that decide the size of the KV pool.
type Options struct {
	// OwnMemory: the device shares its memory with no other program, as an accelerator.
	// Zero MemFraction and MaxRunning then mean AutoMemFraction and AutoMaxRunning.
	OwnMemory bool
	// MemFraction (mem-fraction-static) is the share of the available memory for weights,
	// workspace and KV pool, in (0, 1]; 0: DefaultMemFraction. Hard. Example: 0.5.
	MemFraction float64
	StepTokens  int // of the biggest step, for AutoMemFraction
	// MaxTotalTokens (max-total-tokens) caps the tokens of the pool, rounded down to
	// pages; 0: no cap. A value above what memory allows gets a warning. Example: 65536.
	MaxTotalTokens int
	// MaxRunning (max-running-requests) is how many requests may run at once; zero means
	// DefaultMaxRunning. With OwnMemory, AutoMaxRunning may lower it. Example: 64.
	MaxRunning int
	// CapToRunning limits the pool to MaxRunning contexts, so that a small model does not
	// take half a machine. An explicit MaxTotalTokens replaces this cap.
	CapToRunning bool
	// Pools (data-parallel-size) is the number of equal pools that share the memory, one
	// for each engine; zero means 1. MaxTotalTokens, MaxRunning and the plan are those of
	// one. Example: 2.
	Pools int
	// PageSize (page-size) is the number of tokens in a page: a power of two.
	PageSize int
}

// Facts are what is known of model and device.
type Facts struct {
	AvailableBytes int64  // what the device could use before the weights were loaded
	AvailableFrom  string // how that was found out, for people, for example "cgroup limit"
	// AfterLoadBytes is the same measured with the weights loaded; zero while they are
	// not. It then decides, because it counts what loading took.
	AfterLoadBytes int64
	WeightBytes    int64
	WorkspaceBytes int64  // activations and logits of the biggest step
	BytesPerToken  int64  // K and V of one token on all layers
	PerTokenFrom   string // how that comes about, for people
	Context        int    // tokens that a request may have
}

// Figure is one line of a plan.
type Figure struct {
	Name  string `json:"name"` // a stable word
	Value int64  `json:"value"`
	Unit  string `json:"unit"` // bytes, tokens, pages or requests
	From  string `json:"from"` // how it came about
}

// Plan is how big the pool becomes, and why.
type Plan struct {
	Pages      int   `json:"pages"`      // usable, without page 0
	Tokens     int   `json:"tokens"`     // Pages times page size
	PoolBytes  int64 `json:"pool_bytes"` // with page 0
	MaxRunning int   `json:"max_running_requests"`
	// Bound decided: mem-fraction-static, max-total-tokens or max-running-requests.
	Bound    string   `json:"bound"`
	Figures  []Figure `json:"figures"`            // every number used, in the order of the calculation
	Warnings []string `json:"warnings,omitempty"` // for the log
}

// Shortage is the error of NewPlan if the smallest pool does not fit. Its text says what is
// there and what is needed; what to do depends on the device.
type Shortage struct {
	text string
	// MemFraction is the least mem-fraction-static that would do, in steps of 0.01; above 1
	// if none would.
	MemFraction float64
}

func (s *Shortage) Error() string { return s.text }

// NewPlan sizes the KV pool. An error names the setting to change, or is a *Shortage.
func NewPlan(opts Options, facts Facts) (Plan, error) {
	p := planner{Options: opts, facts: facts, asked: opts.MaxRunning, automatic: opts.MemFraction == 0}
	p.setDefaults()
	if err := p.check(); err != nil {
		return Plan{}, err
	}
	pages, err := p.pagesByMemory(p.kvRoom())
	if err != nil {
		return Plan{}, err
	}
	if pages, err = p.capped(pages); err != nil {
		return Plan{}, err
	}
	p.finish(pages)
	return p.plan, nil
}

type planner struct {
	Options   // with defaults
	facts     Facts
	asked     int  // MaxRunning as it was set
	automatic bool // MemFraction was not set
	plan      Plan
}

func (p *planner) setDefaults() {
	switch {
	case !p.automatic:
	case p.OwnMemory:
		p.MemFraction = AutoMemFraction(p.facts.AvailableBytes, p.StepTokens, 0, 1)
	default:
		p.MemFraction = DefaultMemFraction
	}
	if p.MaxRunning == 0 {
		p.MaxRunning = DefaultMaxRunning
	}
}

func (p *planner) check() error {
	f := &p.facts
	switch {
	case !(p.MemFraction > 0 && p.MemFraction <= 1):
		return fmt.Errorf("mem-fraction-static is %g; it must be above 0 and at most 1", p.MemFraction)
	case paging.CheckSize(p.PageSize) != nil:
		return fmt.Errorf("page-size %w", paging.CheckSize(p.PageSize))
	case p.MaxTotalTokens < 0:
		return fmt.Errorf("max-total-tokens is %d; it must be at least 1, or 0 for no limit", p.MaxTotalTokens)
	case p.MaxRunning < 0:
		return fmt.Errorf("max-running-requests is %d; it must be at least 1, or 0 for the default of %d", p.MaxRunning, DefaultMaxRunning)
	case f.BytesPerToken < 1 || f.Context < 1:
		return fmt.Errorf("a token takes %d bytes of KV and the context length is %d; both must be at least 1", f.BytesPerToken, f.Context)
	case f.BytesPerToken > math.MaxInt64/int64(2*p.PageSize):
		return fmt.Errorf("a page of %d tokens of this model is too large; lower page-size", p.PageSize)
	case f.AvailableBytes < 0 || f.AfterLoadBytes < 0 || f.WeightBytes < 0 || f.WorkspaceBytes < 0:
		return fmt.Errorf("a measured amount of memory is negative: %d bytes available, %d after loading, %d for weights, %d for workspace",
			f.AvailableBytes, f.AfterLoadBytes, f.WeightBytes, f.WorkspaceBytes)
	}
	return nil
}

func (p *planner) add(name string, value int64, unit, from string) {
	p.plan.Figures = append(p.plan.Figures, Figure{name, value, unit, from})
}

func (p *planner) perPage() int64 { return p.facts.BytesPerToken * int64(p.PageSize) }

// static is the bytes for everything that stays.
func (p *planner) static() int64 { return int64(float64(p.facts.AvailableBytes) * p.MemFraction) }

// kvRoom is the bytes that are left for the pool. There are two formulas,
// SGLang's and that of its memory guide:
//
//	remainder  after loading - available × (1 - fraction)
//	guide      available × fraction - weights
//
// They differ by what loading takes beyond the weights. Once that is measured the
// remainder decides; before, there is only the guide. Both leave out the workspace.
func (p *planner) kvRoom() int64 {
	f, static := &p.facts, p.static()
	room, from := static-f.WeightBytes-f.WorkspaceBytes, "static - weights - workspace"
	how := ""
	if p.automatic {
		how = ", the device's default"
	}
	p.add("available", f.AvailableBytes, "bytes", f.AvailableFrom)
	p.add("static", static, "bytes", fmt.Sprintf("available × mem-fraction-static %g%s", p.MemFraction, how))
	p.add("weights", f.WeightBytes, "bytes", "the model")
	p.add("workspace", f.WorkspaceBytes, "bytes", "the largest step")
	if f.AfterLoadBytes > 0 {
		p.add("kv_room_by_guide", max(room, 0), "bytes", from)
		p.add("after_load", f.AfterLoadBytes, "bytes", "available with the weights loaded")
		room, from = f.AfterLoadBytes-(f.AvailableBytes-static)-f.WorkspaceBytes, "after_load - (available - static) - workspace; static is available × mem-fraction-static"
	}
	p.add("kv_room", max(room, 0), "bytes", from)
	if p.Pools > 1 {
		room /= int64(p.Pools)
		p.add("kv_room_per_engine", max(room, 0), "bytes", fmt.Sprintf("kv_room / data-parallel-size %d", p.Pools))
	}
	p.add("kv_per_token", f.BytesPerToken, "bytes", f.PerTokenFrom)
	p.add("kv_per_page", p.perPage(), "bytes", fmt.Sprintf("kv_per_token × page-size %d", p.PageSize))
	return room
}

// pagesByMemory is how many pages fit: one is for padding, and page numbers are int32.
func (p *planner) pagesByMemory(room int64) (int64, error) {
	perPage := p.perPage()
	pages := min(room/perPage-1, math.MaxInt32-2)
	if pages < 1 {
		return 0, p.shortage(2*perPage - room)
	}
	p.plan.Bound = "mem-fraction-static"
	name := "kv_room"
	if p.Pools > 1 {
		name = "kv_room_per_engine"
	}
	p.add("pages_by_memory", pages, "pages", name+" / kv_per_page, less one for padding")
	return pages, nil
}

// shortage describes pools that each lack some bytes.
func (p *planner) shortage(lack int64) error {
	f := &p.facts
	pages := fmt.Sprintf("one page of %d tokens and the padding page", p.PageSize)
	pools := int64(max(p.Pools, 1))
	if pools > 1 {
		pages += fmt.Sprintf(" for each of %d engines", pools)
	}
	needed := p.static() + pools*lack
	loading := "" // what it takes beside the weights
	if beside := needed - f.WeightBytes - f.WorkspaceBytes - 2*pools*p.perPage(); f.AfterLoadBytes > 0 && beside > 0 {
		loading = fmt.Sprintf(", loading %s", size(beside))
	}
	s := &Shortage{MemFraction: math.Inf(1)}
	if f.AvailableBytes > 0 {
		s.MemFraction = math.Ceil(100*float64(needed)/float64(f.AvailableBytes)) / 100
	}
	s.text = fmt.Sprintf("not enough memory for the KV pool: mem-fraction-static %.3g gives %s of %s (%s), and %s are needed: weights %s, workspace %s%s, %s %s",
		p.MemFraction, size(p.static()), size(f.AvailableBytes), f.AvailableFrom, size(needed),
		size(f.WeightBytes), size(f.WorkspaceBytes), loading, pages, size(2*pools*p.perPage()))
	return s
}

// capped lowers the pages that fit to what the settings allow.
func (p *planner) capped(pages int64) (int64, error) {
	pageSize := int64(p.PageSize)
	switch {
	case p.MaxTotalTokens > 0:
		asked, fits := int64(p.MaxTotalTokens), pages*pageSize
		p.add("tokens_by_setting", asked, "tokens", "max-total-tokens")
		switch {
		case asked < pageSize:
			return 0, fmt.Errorf("max-total-tokens %d is less than one page of %d tokens; raise it or lower page-size", asked, p.PageSize)
		case asked > fits:
			p.warn("max-total-tokens %d does not fit into memory; using %d; raise mem-fraction-static to get more", asked, fits)
		case asked/pageSize < pages:
			pages, p.plan.Bound = asked/pageSize, "max-total-tokens"
		}
	case p.CapToRunning:
		most := int64(p.MaxRunning) * int64(paging.Pages(p.facts.Context, p.PageSize))
		p.add("pages_by_running", most, "pages", fmt.Sprintf("max-running-requests %d × context length %d, rounded up to pages", p.MaxRunning, p.facts.Context))
		if most < pages {
			pages, p.plan.Bound = most, "max-running-requests"
		}
	}
	return pages, nil
}

// finish writes the plan for a pool of some pages.
func (p *planner) finish(pages int64) {
	plan := &p.plan
	plan.Pages, plan.Tokens, plan.PoolBytes = int(pages), int(pages)*p.PageSize, (pages+1)*p.perPage()
	plan.MaxRunning = p.MaxRunning
	from := "the device's default"
	switch {
	case p.OwnMemory:
		from = "512 × (pool tokens / context length), between 2048 and 4096; at most half of the pool's tokens, at most max-running-requests"
		plan.MaxRunning = AutoMaxRunning(plan.Tokens, p.facts.Context, p.asked)
		if p.asked > plan.MaxRunning {
			p.warn("max-running-requests %d is too many for a KV pool of %d tokens; using %d", p.asked, plan.Tokens, plan.MaxRunning)
		}
	case p.asked > 0:
		from = "max-running-requests"
	}
	p.add("pages", pages, "pages", plan.Bound)
	p.add("tokens", int64(plan.Tokens), "tokens", fmt.Sprintf("pages × page-size %d", p.PageSize))
	p.add("max_running_requests", int64(plan.MaxRunning), "requests", from)
	p.add("kv_pool", plan.PoolBytes, "bytes", "pages and one padding page × kv_per_page")
	if plan.Tokens < p.facts.Context {
		p.warn("the KV pool holds %d tokens, less than the context length of %d: longer requests are refused; "+
			"raise %s, or lower context-length", plan.Tokens, p.facts.Context, plan.Bound)
	}
}

func (p *planner) warn(format string, args ...any) {
	p.plan.Warnings = append(p.plan.Warnings, fmt.Sprintf(format, args...))
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
