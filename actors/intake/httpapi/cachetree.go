package httpapi

import (
	"cmp"
	"io"
	"net/http"
	"strconv"

	"github.com/troupe-engine/troupe/messages"
)

// Bounds of what /debug/cache shows.
const (
	mostDepth  = 1000
	mostNodes  = 10000
	mostTokens = 256
)

// cacheTree shows a part of the radix tree: token ids, slots, lock counts and ages.
// The cache bounds the pass over its nodes.
func (s *Server) cacheTree(w http.ResponseWriter, r *http.Request) *apiError {
	var limits messages.CacheLimits
	query := r.URL.Query()
	if bad := knownQuery(query, "depth", "nodes", "tokens", "format"); bad != nil {
		return bad
	}
	for _, l := range []struct {
		name string
		to   *int
		most int
	}{{"depth", &limits.Depth, mostDepth}, {"nodes", &limits.Nodes, mostNodes}, {"tokens", &limits.Tokens, mostTokens}} {
		text := query.Get(l.name)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > l.most {
			return invalid(l.name, "%s is %q; it must be between 1 and %d", l.name, clip(text, 64), own(l.most))
		}
		*l.to = n
	}
	format := cmp.Or(query.Get("format"), "json")
	if format != "json" && format != "text" {
		return invalid("format", `"format" is %q; it must be json or text`, clip(format, 64))
	}
	reply := make(chan *messages.CacheDescribed, 1)
	s.Engine.Send(&messages.AskCacheTree{Limits: limits, Reply: reply})
	a, err := awaitReport(r, reply)
	if err != nil {
		return err
	}
	if format == "json" {
		return respond(w, a.View)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if _, err := io.WriteString(w, a.View.Text(true)); err != nil {
		return stalled(err)
	}
	return nil
}
