package httpapi

import (
	"net/http"
	"time"
)

// rightsPeriod is how often the key of an endless stream is checked again, at least. Other
// requests keep the rules with which they began: they end.
const rightsPeriod = time.Second

// mayRead is an error if the key of an endless stream, which all are for administrators, has
// lost its right since it began.
func (s *Server) mayRead(r *http.Request) *apiError {
	switch s.rules.Load().keys.identify(r).role {
	case admin:
		return nil
	case stranger:
		return newError(http.StatusUnauthorized).coded("invalid_api_key").say("the stream ends, because its API key is no longer valid; connect again with another key")
	}
	return forbidden("the stream ends, because its API key no longer has the rights of an administrator; connect again with the admin key")
}
