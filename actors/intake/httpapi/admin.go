package httpapi

import (
	"cmp"
	"io"
	"net/http"
	"strconv"

	"github.com/troupe-engine/troupe/messages"
)

type modelObject struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func (s *Server) modelObject() modelObject {
	return modelObject{s.Model.ID, "model", s.Model.Created, "troupe"}
}

func (s *Server) models() any {
	return map[string]any{"object": "list", "data": []modelObject{s.modelObject()}}
}

func (s *Server) getModel(w http.ResponseWriter, r *http.Request) *apiError {
	if err := s.checkModel(cmp.Or(r.PathValue("id"), "/")); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, s.modelObject())
	return nil
}

func (s *Server) readyNow(w http.ResponseWriter, _ *http.Request) *apiError {
	if s.serving.Err() != nil {
		return shuttingDown()
	}
	if !s.Engine.Ready() {
		return unready()
	}
	writeJSON(w, http.StatusOK, map[string]string{"status": "ready"})
	return nil
}

// flushCache empties the prefix cache; refused while requests run.
func (s *Server) flushCache(w http.ResponseWriter, r *http.Request) *apiError {
	reply := make(chan string, 1)
	s.Engine.Send(&messages.AskCacheFlush{Reply: reply})
	why, err := await(r, reply)
	switch {
	case err != nil:
		return err
	case why != "":
		return invalid("", "%s", own(why))
	}
	writeJSON(w, http.StatusOK, map[string]any{"success": true, "message": "the cache is empty"})
	return nil
}

type abortBody struct {
	RID      string `json:"rid"`
	AbortAll bool   `json:"abort_all"`
}

// abortRequest ends requests by the id that their client chose, or all. A client
// reaches its own requests, the admin those of all clients.
func (s *Server) abortRequest(w http.ResponseWriter, r *http.Request, _ *work, body *abortBody) *apiError {
	if body.RID == "" && !body.AbortAll {
		return invalid("rid", "rid is missing; send the id of a request, or abort_all: true")
	}
	if body.AbortAll {
		if err := s.needsAdmin(w, r, "abort_all"); err != nil {
			return err
		}
	}
	t := trailOf(r.Context())
	s.Engine.Send(&messages.AbortRequests{UserID: body.RID, Owner: t.key, AnyOwner: t.role == admin, All: body.AbortAll})
	writeJSON(w, http.StatusOK, map[string]any{"success": true})
	return nil
}

func await[T any](r *http.Request, reply <-chan T) (answer T, gone *apiError) {
	select {
	case answer = <-reply:
		return answer, nil
	case <-r.Context().Done():
		return answer, clientGone(r.Context(), nil)
	}
}

// awaitReport waits for a report of the engine, which is nil while no engine runs.
func awaitReport[T any](r *http.Request, reply <-chan *T) (*T, *apiError) {
	report, err := await(r, reply)
	if err == nil && report == nil {
		err = unready()
	}
	return report, err
}

// audit counts every page of the KV pool by owner.
func (s *Server) audit(w http.ResponseWriter, r *http.Request) *apiError {
	reply := make(chan *messages.SlotsAudited, 1)
	s.Engine.Send(&messages.AskAudit{Reply: reply})
	a, err := awaitReport(r, reply)
	if err != nil {
		return err
	}
	c := a.Count
	writeJSON(w, http.StatusOK, map[string]any{"ok": a.OK, "unit": "pages", "total": c.Total, "free": c.Free,
		"evictable": c.Evictable, "protected": c.Protected, "leased": c.Leased, "in_transfer": c.InTransfer})
	return nil
}

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
		writeJSON(w, http.StatusOK, a.View)
		return nil
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if _, err := io.WriteString(w, a.View.Text(true)); err != nil {
		return stalled(err)
	}
	return nil
}
