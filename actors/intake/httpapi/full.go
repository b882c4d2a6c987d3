package httpapi

import (
	"math"
	"net/http"
	"time"
)

// unlessFull refuses a request before its body is read, where intake would
// refuse it whatever is in it. Under overload most of what a server does besides
// computing is to refuse, and each refusal interrupts the device.
func (s *Server) unlessFull(next handler) handler {
	return func(w http.ResponseWriter, r *http.Request) *apiError {
		if s.Full == nil || s.draining.Load() {
			return next(w, r)
		}
		wait, most, full := s.Full()
		if !full {
			return next(w, r)
		}
		pause := int(min(math.Ceil(wait.Seconds()), longestPause))
		return newError(http.StatusTooManyRequests).coded("rate_limit_exceeded").retry(pause).
			say("a new request would wait about %s, but at most %s is accepted (half of queue-timeout); send it again in %d s",
				own(wait.Round(time.Second)), own(most), own(pause))
	}
}

// longestPause is the most that Retry-After says, in seconds, as intake's.
const longestPause = 600
