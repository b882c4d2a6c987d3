package httpapi

import (
	"cmp"
	"net/http"

	"github.com/troupe-engine/troupe/model/chat"
	"github.com/troupe-engine/troupe/model/tokenizer"
)

// Model is the served model. Immutable.
type Model struct {
	ID        string // its name in the API
	Created   int64  // Unix seconds
	Context   int    // tokens of prompt and output together
	Tokenizer *tokenizer.Tokenizer
	Template  *chat.Template // nil when the model has none that can be used

	TemplateFault error   // why the model's template cannot be used; names file and remedy
	EOS           []int32 // frozen; tokens that end an output
	Defaults      SamplingDefaults
	// Fingerprint, which may be nil, names the numerics of device and weights: equal
	// seeds produce equal tokens under equal fingerprints. "" leaves it out of answers.
	Fingerprint func() string
}

// SamplingDefaults are the values of parameters that a request leaves out.
type SamplingDefaults struct {
	Temperature, TopP float64
	TopK              int
	MinP              float64
	RepetitionPenalty float64
}

// OpenAIDefaults are those of the API's description.
var OpenAIDefaults = SamplingDefaults{Temperature: 1, TopP: 1, RepetitionPenalty: 1}

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
	return respond(w, s.modelObject())
}

// checkModel accepts the served model's name and no name at all.
func (s *Server) checkModel(name string) *apiError {
	if name == "" || name == s.Model.ID {
		return nil
	}
	return newError(http.StatusNotFound).coded("model_not_found").about("model").
		say("the model %q is not served here; this server has %q", clip(name, 128), own(s.Model.ID))
}
