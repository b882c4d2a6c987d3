package httpapi

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

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
	if bad := s.checkQuery(query, "depth", "nodes", "tokens", "format"); bad != nil {
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
	models, err := s.addressed(s.modelIn(query))
	if err != nil {
		return err
	}
	trees, missing, err := askReports(r, models, func(e Engine, reply chan<- *messages.CacheDescribed) {
		e.Send(&messages.AskCacheTree{Limits: limits, Reply: reply})
	})
	if err != nil {
		return err
	}
	var view messages.CacheView
	if len(models) == 1 {
		view = trees[0].report.View
	} else {
		all := &modelTrees{Missing: missing}
		for _, t := range trees {
			all.Models = append(all.Models, modelTree{t.model, t.report.View})
		}
		view = all
	}
	if format == "json" {
		return respond(w, view)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if _, err := io.WriteString(w, view.Text(true)); err != nil {
		return stalled(err)
	}
	return nil
}

// modelTrees are the caches of several models, by name.
type modelTrees struct {
	Models  []modelTree `json:"models"`
	Missing []string    `json:"unavailable,omitempty"` // models without an answer
}

type modelTree struct {
	Model string             `json:"model"`
	Cache messages.CacheView `json:"cache"`
}

// Text implements messages.CacheView.
func (t *modelTrees) Text(ages bool) string {
	var b strings.Builder
	for _, m := range t.Models {
		fmt.Fprintf(&b, "model %s\n%s", m.Model, m.Cache.Text(ages))
	}
	for _, name := range t.Missing {
		fmt.Fprintf(&b, "model %s: no engine answered\n", name)
	}
	return b.String()
}
