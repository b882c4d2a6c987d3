package pool_test

import (
	"fmt"

	"github.com/troupe-engine/troupe/memory/pool"
)

// A model of 16 KiB KV per token on a machine with 16 GiB available, half of
// which may be used.
func ExampleNewPlan() {
	plan, err := pool.NewPlan(pool.Options{MemFraction: 0.5, PageSize: 16, MaxTotalTokens: 400_000}, pool.Facts{
		AvailableBytes: 16 << 30, AvailableFrom: "MemAvailable",
		WeightBytes: 3 << 30, WorkspaceBytes: 256 << 20,
		BytesPerToken: 16 << 10, PerTokenFrom: "8 layers × 4 KV heads × 128 head dim × 2 (K, V) × 2 bytes",
		Context: 32768,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(plan.Pages, "pages,", plan.Tokens, "tokens, bound by", plan.Bound)
	for _, f := range plan.Figures {
		fmt.Println(f.Name, f.Value, f.Unit)
	}
	fmt.Println(plan.Warnings)
	// Output:
	// 19455 pages, 311280 tokens, bound by mem-fraction-static
	// available 17179869184 bytes
	// static 8589934592 bytes
	// weights 3221225472 bytes
	// workspace 268435456 bytes
	// kv_room 5100273664 bytes
	// kv_per_token 16384 bytes
	// kv_per_page 262144 bytes
	// pages_by_memory 19455 pages
	// tokens_by_setting 400000 tokens
	// pages 19455 pages
	// tokens 311280 tokens
	// max_running_requests 64 requests
	// kv_pool 5100273664 bytes
	// [max-total-tokens 400000 does not fit into memory; using 311280; raise mem-fraction-static to get more]
}
