package sched

// newTokenRatio is the share of its greatest possible output that a request is
// expected to produce. It starts high, decays while memory suffices, and is
// measured anew when a request had to be retracted.
//
// The numbers are SGLang's (new_token_ratio.py and its unit test, item 24):
// init = min(0.7·c, 1), min = 0.14·init, 600 steps from one to the other.
type newTokenRatio struct {
	init, min, decay float64
	now              float64
}

// lookaheadSteps is how many steps the remaining requests shall be able to go
// after a retraction (SGLANG_RETRACT_DECODE_STEPS).
const lookaheadSteps = 20

func newRatio(opt *FormerOptions) newTokenRatio {
	r := newTokenRatio{init: min(opt.InitNewTokenRatio*opt.Conservativeness, 1)}
	r.min = min(r.init*opt.MinNewTokenRatioFactor, 1)
	r.decay = (r.init - r.min) / float64(opt.NewTokenRatioDecaySteps)
	r.now = r.init
	return r
}

// step follows a step without retraction.
func (r *newTokenRatio) step() { r.now = max(r.now-r.decay, r.min) }

// reset follows idleness.
func (r *newTokenRatio) reset() { r.now = r.init }

// retracted follows a retraction: the requests that go on have produced
// produced tokens together, of at most limit.
func (r *newTokenRatio) retracted(requests, produced, limit int) {
	r.now = min(1, float64(produced+lookaheadSteps*requests)/float64(limit+1))
}
