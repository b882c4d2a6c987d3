package httpapi

import (
	"encoding/json"
	"net/http"

	"github.com/troupe-engine/troupe/model/tokenizer"
)

type tokenizeRequest struct {
	Model            string          `json:"model"`
	Prompt           json.RawMessage `json:"prompt"`
	Text             json.RawMessage `json:"text"`
	AddSpecialTokens *bool           `json:"add_special_tokens"`
}

type tokenizeResponse struct {
	Tokens      any `json:"tokens"` // ids, or a list of them for a list of texts
	Count       any `json:"count"`
	MaxModelLen int `json:"max_model_len"`
}

// tokenize answers with the ids of a text or of each of a list.
func (s *Server) tokenize(w http.ResponseWriter, r *http.Request) *apiError {
	var req tokenizeRequest
	if err := s.decode(w, r, &req); err != nil {
		return err
	}
	if err := s.checkModel(req.Model); err != nil {
		return err
	}
	source, name := req.Prompt, "prompt"
	switch {
	case !isNull(req.Prompt) && !isNull(req.Text):
		return invalid("text", "prompt and text are both given; send one of them")
	case isNull(req.Prompt) && isNull(req.Text):
		return invalid("prompt", "prompt is missing; send a string or an array of strings")
	case isNull(req.Prompt):
		source, name = req.Text, "text"
	}
	var one string
	var many []*string
	switch {
	case source[0] == '"' && json.Unmarshal(source, &one) == nil:
		many = []*string{&one}
	case source[0] != '[' || json.Unmarshal(source, &many) != nil:
		return invalid(name, "%s must be a string or an array of strings", name)
	}
	release, err := s.prepare(r.Context())
	if err != nil {
		return err
	}
	defer release()
	tokens, counts := make([][]int32, len(many)), make([]int, len(many))
	for i, text := range many {
		if text == nil {
			return invalid(name, "%s[%d] is null, it must be a string", name, i)
		}
		if r.Context().Err() != nil { // nobody waits for the rest
			return gone(r.Context(), nil)
		}
		tokens[i] = s.Model.Tokenizer.Encode(*text, tokenizer.EncodeOptions{AddSpecial: req.AddSpecialTokens == nil || *req.AddSpecialTokens, ParseSpecial: true})
		counts[i] = len(tokens[i])
	}
	answer := tokenizeResponse{tokens, counts, s.Model.Context}
	if source[0] == '"' {
		answer.Tokens, answer.Count = tokens[0], counts[0]
	}
	writeJSON(w, http.StatusOK, answer)
	return nil
}

type detokenizeRequest struct {
	Model             string          `json:"model"`
	Tokens            json.RawMessage `json:"tokens"`
	SkipSpecialTokens *bool           `json:"skip_special_tokens"`
}

// detokenize answers with the text of ids, or with one for each list of ids.
func (s *Server) detokenize(w http.ResponseWriter, r *http.Request) *apiError {
	var req detokenizeRequest
	if err := s.decode(w, r, &req); err != nil {
		return err
	}
	if err := s.checkModel(req.Model); err != nil {
		return err
	}
	if isNull(req.Tokens) {
		return invalid("tokens", "tokens is missing; send an array of token ids")
	}
	opts := tokenizer.DecodeOptions{SkipSpecial: req.SkipSpecialTokens == nil || *req.SkipSpecialTokens}
	var lists []json.RawMessage
	if json.Unmarshal(req.Tokens, &lists) == nil && len(lists) > 0 && lists[0][0] == '[' {
		texts := make([]string, len(lists))
		for i, one := range lists {
			ids, err := parseIDs(&s.Model, one, indexed("tokens", i))
			if err != nil {
				return err
			}
			texts[i] = s.Model.Tokenizer.Decode(ids, opts)
		}
		writeJSON(w, http.StatusOK, map[string]any{"text": texts, "prompt": texts})
		return nil
	}
	ids, err := parseIDs(&s.Model, req.Tokens, "tokens")
	if err != nil {
		return err
	}
	text := s.Model.Tokenizer.Decode(ids, opts)
	writeJSON(w, http.StatusOK, map[string]any{"text": text, "prompt": text})
	return nil
}
