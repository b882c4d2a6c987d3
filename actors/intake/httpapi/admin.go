package httpapi

import (
	"cmp"
	"net/http"

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

func (s *Server) listModels(w http.ResponseWriter, _ *http.Request) *apiError {
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []modelObject{s.modelObject()}})
	return nil
}

func (s *Server) getModel(w http.ResponseWriter, r *http.Request) *apiError {
	if err := s.checkModel(cmp.Or(r.PathValue("id"), "/")); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, s.modelObject())
	return nil
}

// live answers as long as the process can answer at all.
func (s *Server) live(w http.ResponseWriter, _ *http.Request) *apiError {
	writeJSON(w, http.StatusOK, map[string]string{"status": "live"})
	return nil
}

// readyNow answers whether a request sent now would be taken at once.
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

func (s *Server) serverInfo(w http.ResponseWriter, _ *http.Request) *apiError {
	writeJSON(w, http.StatusOK, s.Info())
	return nil
}

func (s *Server) metrics(w http.ResponseWriter, r *http.Request) *apiError {
	s.Metrics.ServeHTTP(w, r)
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

// await waits for an actor's reply.
func await[T any](r *http.Request, reply <-chan T) (answer T, gone *apiError) {
	select {
	case answer = <-reply:
		return answer, nil
	case <-r.Context().Done():
		return answer, clientGone(r.Context(), nil)
	}
}

// audit counts every page of the KV pool by owner.
func (s *Server) audit(w http.ResponseWriter, r *http.Request) *apiError {
	reply := make(chan *messages.SlotsAudited, 1)
	s.Engine.Send(&messages.AskAudit{Reply: reply})
	a, err := await(r, reply)
	switch {
	case err != nil:
		return err
	case a == nil:
		return unready()
	}
	c := a.Count
	writeJSON(w, http.StatusOK, map[string]any{"ok": a.OK, "unit": "pages", "total": c.Total, "free": c.Free,
		"evictable": c.Evictable, "protected": c.Protected, "leased": c.Leased, "in_transfer": c.InTransfer})
	return nil
}
