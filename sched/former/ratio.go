package former

// newTokenRatio is the share of its greatest possible output that a request is
// expected to produce. It starts high, decays while memory suffices, and is
// measured anew when a request had to be retracted.
//
// The numbers are SGLang's (new_token_ratio.py and its unit test, item 24):
// init = min(0.7·c, 1), min = 0.14·init, 600 steps from one to the other. Two
// things are different.
//
// There the ratio goes on from the value measured at a retraction by the same
// small steps, so that one moment of pressure keeps requests out for hundreds of
// steps. Here the course goes on as if nothing had happened, and what the
// measured value is above it halves every few steps: of pressure that has gone
// nothing is left after a hundred steps.
//
// There the ratio decays to min whatever requests really produce. Here it stops
// at half of the share that those who ended lately have used, if that is more.
// Half, since requests that run together are at different places: on average
// one has half of its output behind it, and when the last ones need the most,
// others have ended. So outputs that are longer than usual are met by admission
// before they are met by retraction.
type newTokenRatio struct {
	init, min, decay float64
	now              float64
	course           float64 // what now would be by time alone
	last             float64 // goal of the last step

	share float64 // of its greatest possible output that a request used, fading mean
	ends  int     // requests in it
}

// lookaheadSteps is how many steps the remaining requests shall be able to go
// after a retraction (SGLANG_RETRACT_DECODE_STEPS).
const lookaheadSteps = 20

// calming is what a step leaves of the distance to the undisturbed course: half
// of it after 14 steps, 0.6 % after 100.
const calming = 0.95

func newRatio(opt *Options) newTokenRatio {
	r := newTokenRatio{init: min(opt.InitNewTokenRatio*opt.Conservativeness, 1)}
	r.min = min(r.init*opt.MinNewTokenRatioFactor, 1)
	r.decay = (r.init - r.min) / float64(opt.NewTokenRatioDecaySteps)
	r.reset()
	return r
}

// What of the share that requests used lately is expected of those who run, of
// how many the fading mean is, and from how many on it counts.
const (
	staggered   = 0.5
	shareOf     = 32
	sharesKnown = 16
)

// ended follows the end of a request with output tokens of at most limit.
func (r *newTokenRatio) ended(output, limit int) {
	r.ends = min(r.ends+1, shareOf)
	r.share += (min(1, float64(output)/float64(limit)) - r.share) / float64(r.ends)
}

// goal is what the ratio comes back to after a retraction: its course, or what
// the shares say.
func (r *newTokenRatio) goal() float64 {
	if r.ends < sharesKnown {
		return r.course
	}
	return max(r.course, staggered*r.share)
}

// step follows a step without retraction.
func (r *newTokenRatio) step() {
	r.course = max(r.course-r.decay, r.min)
	goal := r.goal()
	r.now = goal + (r.now-r.last)*calming
	r.last = goal
}

// reset follows idleness.
func (r *newTokenRatio) reset() {
	r.course = r.init
	r.last = r.goal()
	r.now = r.last
}

// retracted follows a retraction: the requests that go on have produced
// produced tokens together, of at most limit.
func (r *newTokenRatio) retracted(requests, produced, limit int) {
	r.now = min(1, float64(produced+lookaheadSteps*requests)/float64(limit+1))
}
