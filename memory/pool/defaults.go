package pool

import "math"

// Defaults of a device that shares its memory with other programs, as a CPU does.
const (
	DefaultMemFraction = 0.5
	DefaultMaxRunning  = 64
)

// AutoMemFraction is the default of mem-fraction-static on a device with memory of its
// own: all but what runtime, activations and captured graphs need. total is the device's
// memory in bytes, chunk the tokens of the biggest prefill step, graphBatch the biggest
// captured batch of decode steps (0: none), ranks the number of devices of a model.
//
// The formula is SGLang's (server_args.py, handling of GPU memory), in MiB:
//
//	reserved = 512 + 1.5 × max(chunk, 2048) + 2 × graphBatch + 128 × ranks
//	reserved = at least 10240 above 60 GiB
//	fraction = (total - reserved) / total, to three decimals
//
// If the total is not known (not positive) the fraction is 0.88.
func AutoMemFraction(total int64, chunk, graphBatch, ranks int) float64 {
	const unknown, floor, big = 0.88, 10240, 60 << 10
	mib := float64(total) / (1 << 20)
	if mib <= 0 {
		return unknown
	}
	reserved := 512 + 1.5*float64(max(chunk, 2048)) + 2*float64(graphBatch) + 128*float64(max(ranks, 1))
	if mib > big {
		reserved = max(reserved, floor)
	}
	// A device smaller than the reserve gets a share: the plan says what does not fit.
	return max(math.Round((mib-reserved)/mib*1000)/1000, 0.1)
}

// MostRunning and LeastRunning bound AutoMaxRunning's estimate.
const (
	MostRunning  = 4096
	LeastRunning = 2048
)

// AutoMaxRunning is the default of max-running-requests on a device with memory of its
// own, for a pool of tokens and requests of context tokens. asked is the setting, or 0.
//
// The formula is SGLang's (model_runner.py, resolve_max_num_reqs): 512 times
// the contexts that fit, between 2048 and 4096. If nothing is set, at most one
// request for two tokens of the pool; a setting is lowered to the formula.
func AutoMaxRunning(tokens, context, asked int) int {
	estimate := min(max(int(float64(tokens)/float64(context)*512), LeastRunning), MostRunning)
	if asked > 0 {
		return min(asked, estimate)
	}
	return max(min(estimate, tokens/2), 1)
}
