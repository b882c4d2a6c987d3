package httpapi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"

	"github.com/troupe-engine/troupe/model/chat"
	"github.com/troupe-engine/troupe/model/chat/output"
	"github.com/troupe-engine/troupe/model/tokenizer"
)

// Model is what the adapter knows of a served model. Immutable.
type Model struct {
	ID        string // its name in the API
	Created   int64  // Unix seconds
	Context   int    // tokens of prompt and output together
	Tokenizer *tokenizer.Tokenizer
	Template  *chat.Template // nil when the model has none that can be used
	// ToolTemplate takes the place of Template where a conversation has tools or calls; nil:
	// Template knows them, if the model does.
	ToolTemplate *chat.Template

	Format        output.Format // how outputs are written, from the template for tools or named by settings
	TemplateFault error         // why the model's template cannot be used; names file and remedy
	EOS           []int32       // frozen; tokens that end an output
	Grammars      Grammars      // nil: outputs cannot be constrained
	GrammarFault  error         // why; names the remedy
	Defaults      SamplingDefaults
	// Fingerprint, which may be nil, names the numerics of device and weights: equal
	// seeds produce equal tokens under equal fingerprints. "" leaves it out of answers.
	// It is in the form of SystemFingerprint, and is for outputs that do not name another.
	// Shortly after a start it waits until the weights have been hashed.
	Fingerprint func(context.Context) string
}

// SystemFingerprint is an engine's fingerprint as answers have it.
func SystemFingerprint(numerics string) string {
	sum := sha256.Sum256([]byte(numerics))
	return "fp_" + hex.EncodeToString(sum[:6])
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
	// Tokens of prompt and output together, under vLLM's and SGLang's name and under that
	// of hosted services: clients read one or the other. 0, and left out: not known yet.
	MaxModelLen   int `json:"max_model_len,omitempty"`
	ContextLength int `json:"context_length,omitempty"`
}

func (m *Model) object() modelObject {
	return modelObject{m.ID, "model", m.Created, "troupe", m.Context, m.Context}
}

func (s *Server) models() any {
	data := []modelObject{}
	for _, m := range s.Models.All() {
		data = append(data, m.Model.object())
	}
	return map[string]any{"object": "list", "data": data}
}

func (s *Server) getModel(w http.ResponseWriter, r *http.Request) *apiError {
	m, err := s.find(cmp.Or(r.PathValue("id"), "/"))
	if err != nil {
		return err
	}
	return respond(w, m.Model.object())
}
