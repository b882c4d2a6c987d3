package httpapi

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/troupe-engine/troupe/cluster/report"
	"github.com/troupe-engine/troupe/messages"
)

// flushCache empties the prefix caches; one is not emptied while its requests run.
func (s *Server) flushCache(w http.ResponseWriter, r *http.Request) *apiError {
	models, err := s.addressed(s.modelIn(r.URL.Query()))
	if err != nil {
		return err
	}
	answers, err := ask(r, models, func(e Engine, reply chan<- string) { e.Send(&messages.AskCacheFlush{Reply: reply}) })
	if err != nil {
		return err
	}
	var refused []string
	for i, why := range answers {
		switch {
		case why == "":
		case len(models) == 1:
			refused = append(refused, why)
		default:
			refused = append(refused, fmt.Sprintf("model %s: %s", models[i].Model.ID, why))
		}
	}
	if len(refused) > 0 {
		return invalid("", "%s", own(strings.Join(refused, "; ")))
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
	if s.Cluster != nil { // the request may have come through another gateway
		s.Cluster.Abort(r.Context(), report.Abort{UserID: body.RID, Owner: t.key, AnyOwner: t.role == admin, All: body.AbortAll})
		return respond(w, map[string]any{"success": true})
	}
	for _, m := range s.Models.All() {
		if m.Engine != nil {
			m.Engine.Send(&messages.AbortRequests{UserID: body.RID, Owner: t.key, AnyOwner: t.role == admin, All: body.AbortAll})
		}
	}
	return respond(w, map[string]any{"success": true})
}

// ask has a question sent to the intakes of models and waits for all answers. Each reply
// channel has room for the answer.
func ask[T any](r *http.Request, models []*Served, send func(e Engine, reply chan<- T)) ([]T, *apiError) {
	replies, answers := make([]chan T, len(models)), make([]T, len(models))
	for i, m := range models {
		replies[i] = make(chan T, 1)
		send(m.Engine, replies[i])
	}
	for i, reply := range replies {
		select {
		case answers[i] = <-reply:
		case <-r.Context().Done():
			return nil, clientGone(r.Context(), nil)
		}
	}
	return answers, nil
}

// modelReport is the answer of a model's engines.
type modelReport[T any] struct {
	model  string
	report *T
}

// askReports is ask for reports, which are nil while no engine of the model runs. It
// returns the others, at least one, and the models without a report.
func askReports[T any](r *http.Request, models []*Served, send func(e Engine, reply chan<- *T)) (reports []modelReport[T], missing []string, err *apiError) {
	answers, err := ask(r, models, send)
	for i, a := range answers {
		if name := models[i].Model.ID; a == nil {
			missing = append(missing, name)
		} else {
			reports = append(reports, modelReport[T]{name, a})
		}
	}
	if err == nil && len(reports) == 0 {
		err = unready()
	}
	return reports, missing, err
}

// audit counts every page of the KV pools by owner.
func (s *Server) audit(w http.ResponseWriter, r *http.Request) *apiError {
	models, err := s.addressed(s.modelIn(r.URL.Query()))
	if err != nil {
		return err
	}
	reports, missing, err := askReports(r, models, func(e Engine, reply chan<- *messages.SlotsAudited) { e.Send(&messages.AskAudit{Reply: reply}) })
	if err != nil {
		return err
	}
	if len(models) == 1 {
		return respond(w, auditAnswer(reports[0].report.OK, &reports[0].report.Count))
	}
	// Pages of different models have different sizes, so they are not added up.
	ok, each := true, []map[string]any{}
	for _, one := range reports {
		a := auditAnswer(one.report.OK, &one.report.Count)
		a["model"] = one.model
		ok, each = ok && one.report.OK, append(each, a)
	}
	answer := map[string]any{"ok": ok, "models": each}
	if len(missing) > 0 {
		answer["unavailable"] = missing
	}
	return respond(w, answer)
}

func auditAnswer(ok bool, c *messages.PageCount) map[string]any {
	return map[string]any{"ok": ok, "unit": "pages", "total": c.Total, "free": c.Free,
		"evictable": c.Evictable, "protected": c.Protected, "leased": c.Leased, "in_transfer": c.InTransfer}
}
