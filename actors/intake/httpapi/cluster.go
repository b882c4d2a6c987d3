package httpapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/troupe-engine/troupe/cluster/report"
)

// Cluster answers operators, for this process and for the nodes of its cluster. It is safe
// for concurrent use. Errors for the operator are *report.Error.
type Cluster interface {
	// State is the state of this process: ready, draining, stopped or failed.
	State() string
	// Abort ends requests on all gateways.
	Abort(ctx context.Context, a report.Abort)
	Nodes(ctx context.Context) []report.Node
	// Actors lists the actors of a node, or of all nodes without a name.
	Actors(ctx context.Context, node string) ([]report.Actor, error)
	// Events waits for events after a number and returns them, the oldest first. 0 asks
	// for all that are kept. Missing ones are the first event, a gap.
	Events(ctx context.Context, after uint64) ([]report.Event, error)
	Last(ctx context.Context) (uint64, error) // the number of the newest event
	Act(ctx context.Context, a *report.Action) (*report.Outcome, error)
}

// clusterRoutes are the endpoints for operators.
func (s *Server) clusterRoutes() []route {
	if s.Cluster == nil {
		return nil
	}
	return []route{
		{"GET", "/v1/cluster", forAdmin, s.clusterNodes},
		{"GET", "/v1/cluster/actors", forAdmin, s.clusterActors},
		{"GET", "/v1/cluster/events", forAdmin, s.clusterEvents},
		{"POST", "/v1/cluster/actions", forAdmin, post(s, s.clusterAction)},
	}
}

// outOfService is the error of readiness while an operator has drained or stopped the
// process, or while it has taken itself out.
func (s *Server) outOfService() *apiError {
	if s.Cluster == nil || s.Cluster.State() == report.Ready {
		return nil
	}
	return newError(http.StatusServiceUnavailable).coded("not_in_service").retry(5).
		say("this node is %s; send the request to another one", own(s.Cluster.State()))
}

// drained refuses calls while an operator has drained or stopped the process. One that has
// failed keeps them: they wait until its engine, or another one, works again.
func (s *Server) drained() *apiError {
	if s.Cluster != nil && s.Cluster.State() == report.Failed {
		return nil
	}
	return s.outOfService()
}

func (s *Server) clusterNodes(w http.ResponseWriter, r *http.Request) *apiError {
	if err := knownQuery(r.URL.Query()); err != nil {
		return err
	}
	return respond(w, map[string]any{"nodes": s.Cluster.Nodes(r.Context())})
}

func (s *Server) clusterActors(w http.ResponseWriter, r *http.Request) *apiError {
	query := r.URL.Query()
	if err := knownQuery(query, "node"); err != nil {
		return err
	}
	list, err := s.Cluster.Actors(r.Context(), query.Get("node"))
	if err != nil {
		return clusterError(r, err, "node")
	}
	return respond(w, map[string]any{"actors": list})
}

// actionBody is what an operator asks for.
type actionBody struct {
	Action string `json:"action"`
	Target string `json:"target"`
	Reason string `json:"reason"`
	Force  bool   `json:"force"`
}

func (s *Server) clusterAction(w http.ResponseWriter, r *http.Request, job *work, body *actionBody) *apiError {
	a := &report.Action{Action: body.Action, Target: body.Target, Reason: body.Reason, Force: body.Force, Operator: operator(r)}
	if err := a.Check(); err != nil {
		return invalid("", "%v", err)
	}
	if err := job.parsed(0); err != nil { // an action may take long
		return err
	}
	outcome, err := s.Cluster.Act(r.Context(), a)
	if err != nil {
		return clusterError(r, err, "target")
	}
	return respond(w, outcome)
}

// operator says who asks, without anything of a key.
func operator(r *http.Request) string {
	who := "anyone"
	if trailOf(r.Context()).key != "" {
		who = "the admin key"
	}
	return who + " from " + r.RemoteAddr
}

// clusterStatuses are the statuses of errors for operators.
var clusterStatuses = map[string]int{
	report.Invalid: http.StatusBadRequest, report.Unknown: http.StatusNotFound, report.InProgress: http.StatusConflict,
	report.Refused: http.StatusConflict, report.Unreachable: http.StatusBadGateway, report.Unfinished: http.StatusInternalServerError,
}

// clusterError converts an error. param is the parameter that names the node or the actor.
func clusterError(r *http.Request, err error, param string) *apiError {
	var known *report.Error
	switch {
	case r.Context().Err() != nil: // then a node that was asked has not answered either
		return clientGone(r.Context(), err)
	case !errors.As(err, &known):
		return internal("%v", err)
	}
	e := newError(http.StatusInternalServerError)
	if status := clusterStatuses[known.Kind]; status != 0 {
		e = newError(status)
	}
	return e.coded(known.Kind).about(param).say("%s", known.Text)
}
