package exec

import "github.com/troupe-engine/troupe/model/grammar/thoughts"

// thinking follows an output whose thoughts are bounded. The zero value follows nothing.
type thinking struct {
	on       bool
	follower thoughts.Follower
}

func (t *thinking) accept(tokens []int32) {
	for i := range tokens {
		if !t.on {
			return
		}
		t.follower.Accept(tokens[i])
	}
}

// end is the token that must come because thoughts have had their tokens.
func (t *thinking) end() (token int32, ok bool) {
	if !t.on {
		return 0, false
	}
	return t.follower.Forced()
}
