package httpapi

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// Served is a model that the server serves. Immutable: when something about it changes,
// the catalogue gets another one in its place. Calls that have begun keep the old one.
type Served struct {
	Model Model
	// Engine is the way to the model's intake. nil: the model is known by its name only,
	// because no engine of it has joined yet, and requests for it are refused with 503.
	Engine  Engine
	Observe func(messages.ToObserver) // sends to the observer of the model's caches; nil: KV events are off
	// Full reports whether intake would refuse every new request now, because it would
	// wait longer than most. If this is the only model, it is called before a body is
	// read, so that a refusal costs very little. It counts the refusal. nil: intake alone
	// refuses.
	Full func() (wait, most time.Duration, full bool)
	// Readings are the model's counters, gauges and histograms, for the board; nil: it has none.
	// The value marshals to JSON.
	Readings func() any
	Steps    func() float64 // steps computed by the engine: a probe without a token tells busy from hung by it
}

// Catalog has the models that are served. It is safe for concurrent use, and its content
// may change while the server runs.
type Catalog interface {
	Find(name string) *Served // nil if no such model is served
	All() []*Served           // by name; frozen
}

// Models is a Catalog that is replaced as a whole. The zero value is empty.
type Models struct{ all atomic.Pointer[[]*Served] }

// Serving returns a Catalog of these models.
func Serving(models ...*Served) *Models {
	m := &Models{}
	m.Set(models...)
	return m
}

// Set replaces the content. Names must differ.
func (m *Models) Set(models ...*Served) {
	models = slices.SortedFunc(slices.Values(models), func(a, b *Served) int { return cmp.Compare(a.Model.ID, b.Model.ID) })
	m.all.Store(&models)
}

func (m *Models) All() []*Served {
	if all := m.all.Load(); all != nil {
		return *all
	}
	return nil
}

func (m *Models) Find(name string) *Served {
	for _, one := range m.All() {
		if one.Model.ID == name {
			return one
		}
	}
	return nil
}

// find returns the model of a name, and the only one without a name.
func (s *Server) find(name string) (*Served, *apiError) {
	all := s.Models.All()
	if name == "" && len(all) == 1 {
		return all[0], nil
	}
	switch m := s.Models.Find(name); {
	case len(all) == 0:
		return nil, noModels()
	case name == "":
		return nil, invalid("model", `"model" is missing, but this server has several models; set it to one of %s`, own(quoted(all)))
	case m != nil:
		return m, nil
	}
	return nil, newError(http.StatusNotFound).coded("model_not_found").about("model").
		say("the model %q is not served here; this server has %s", clip(name, 128), own(quoted(all)))
}

// reach is find for what needs an engine of the model, or its tokenizer.
func (s *Server) reach(name string) (*Served, *apiError) {
	m, err := s.find(name)
	if err == nil && m.Engine == nil {
		return nil, noEngine().say("no engine of the model %s has joined this gateway yet; try again in a moment", own(clip(m.Model.ID, 128)))
	}
	return m, err
}

// reachForCall is reach for a request that generates.
func (s *Server) reachForCall(name string) (*Served, *apiError) {
	m, err := s.reach(name)
	if err == nil && len(s.Models.All()) > 1 { // else it was checked before
		err = s.overloaded(m)
	}
	return m, err
}

// addressed returns the models that a question to engines is about: the one of a name or,
// without a name, all that have an engine.
func (s *Server) addressed(name string) ([]*Served, *apiError) {
	if name != "" {
		m, err := s.reach(name)
		return []*Served{m}, err
	}
	all := slices.DeleteFunc(slices.Clone(s.Models.All()), func(m *Served) bool { return m.Engine == nil })
	if len(all) == 0 {
		return nil, noModels()
	}
	return all, nil
}

// modelIn is ?model=, which only gateways have.
func (s *Server) modelIn(query url.Values) string {
	if s.Gateway {
		return query.Get("model")
	}
	return ""
}

// checkQuery refuses query parameters that an endpoint does not have.
func (s *Server) checkQuery(query url.Values, known ...string) *apiError {
	if s.Gateway {
		known = append(known, "model")
	}
	return knownQuery(query, known...)
}

func noModels() *apiError {
	return noEngine().say("no engine has joined this gateway yet; try again in a moment")
}

func noEngine() *apiError {
	return newError(http.StatusServiceUnavailable).coded(codeNoEngine).retry(5)
}

const mostQuoted = 10 // names of models in an error

// quoted lists names for an error.
func quoted(models []*Served) string {
	var b strings.Builder
	for i, m := range models[:min(len(models), mostQuoted)] {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", clip(m.Model.ID, 128))
	}
	if more := len(models) - mostQuoted; more > 0 {
		fmt.Fprintf(&b, " and %d more (GET /v1/models lists all)", more)
	}
	return b.String()
}
