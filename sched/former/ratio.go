package former

// newTokenRatio is the share of its maximum output that a request is expected to
// produce. It starts high, decays while memory suffices, and is measured again when
// a request was retracted for lack of memory.
//
// The numbers are SGLang's (new_token_ratio.py and its unit test, item 24): init =
// min(0.7·c, 1), min = 0.14·init, 600 steps from one to the other. Two things differ.
//
// After a retraction SGLang's ratio decays from the measured value by the same small
// steps, which keeps requests out for hundreds of steps. Here the undisturbed course
// goes on, and the distance of the measured value to it halves every 14 steps.
//
// SGLang's ratio decays to min whatever requests produce. Here it stops at half of
// the share that requests have used lately, if that is more: requests that run
// together have produced half of their output on average. So if outputs become
// longer, admission reacts before retraction has to.
type newTokenRatio struct {
	init, min, decay float64
	now              float64
	course           float64 // what now would be without retractions
	last             float64 // goal of the last step

	share float64 // of its maximum output that a request used, fading mean
	ends  int     // requests in it
}

const (
	minRatioFactor = 0.14 // min by init
	decaySteps     = 600  // from init to min
	// lookaheadSteps is for how many steps the remaining requests have pages after a
	// retraction (SGLANG_RETRACT_DECODE_STEPS).
	lookaheadSteps = 20
	// calming is the factor by which a step reduces the distance to the undisturbed
	// course: to half of it after 14 steps, to 0.6 % after 100.
	calming = 0.95

	staggered   = 0.5 // of the share that requests used lately is expected of running ones
	shareOf     = 32  // requests are in the fading mean
	sharesKnown = 16  // requests at least, or the share does not count
)

func newRatio(opt *Options) newTokenRatio {
	r := newTokenRatio{init: min(opt.InitNewTokenRatio*opt.Conservativeness, 1)}
	r.min = r.init * minRatioFactor
	r.decay = (r.init - r.min) / decaySteps
	r.reset()
	return r
}

// ended follows the end of a request with output tokens of at most limit.
func (r *newTokenRatio) ended(output, limit int) {
	r.ends = min(r.ends+1, shareOf)
	r.share += (min(1, float64(output)/float64(limit)) - r.share) / float64(r.ends)
}

// goal is what the ratio returns to after a retraction: its course or what shares say.
func (r *newTokenRatio) goal() float64 {
	if r.ends < sharesKnown {
		return r.course
	}
	return max(r.course, staggered*r.share)
}

func (r *newTokenRatio) step() {
	r.course = max(r.course-r.decay, r.min)
	goal := r.goal()
	r.now = goal + (r.now-r.last)*calming
	r.last = goal
}

// reset starts again, when no request is left.
func (r *newTokenRatio) reset() {
	r.course = r.init
	r.last = r.goal()
	r.now = r.last
}

// retracted follows a retraction. The other requests produced tokens, of at most limit.
func (r *newTokenRatio) retracted(requests, produced, limit int) {
	r.now = min(1, float64(produced+lookaheadSteps*requests)/float64(limit+1))
}
