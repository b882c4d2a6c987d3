package httpapi

import (
	"net/http"

	"github.com/troupe-engine/troupe/messages"
)

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
	return respond(w, map[string]any{"success": true, "message": "the cache is empty"})
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
	return respond(w, map[string]any{"success": true})
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
	return respond(w, map[string]any{"ok": a.OK, "unit": "pages", "total": c.Total, "free": c.Free,
		"evictable": c.Evictable, "protected": c.Protected, "leased": c.Leased, "in_transfer": c.InTransfer})
}
