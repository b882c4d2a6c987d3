package httpapi

import (
	"net/http"
	"strconv"

	"github.com/troupe-engine/troupe/internal/jsonread"
	"github.com/troupe-engine/troupe/model/tokenizer"
)

// Bounds of a call that turns text into ids or back, which no context limits.
const (
	maxLists       = 1 << 16 // texts, or lists of ids
	maxDecodedIDs  = 1 << 20 // ids of all lists
	maxDecodedText = 8 << 20 // bytes of their texts
)

type tokenizeRequest struct {
	Model            string     `json:"model"`
	Prompt           promptJSON `json:"prompt"`
	Text             promptJSON `json:"text"`
	AddSpecialTokens *bool      `json:"add_special_tokens"`
}

// tokenize answers with the ids of a text or of each of a list.
func (s *Server) tokenize(w http.ResponseWriter, r *http.Request, job *work, req *tokenizeRequest) *apiError {
	served, err := s.reach(req.Model)
	if err != nil {
		return err
	}
	m := &served.Model
	source, name := req.Prompt, "prompt"
	switch {
	case !isNull(req.Prompt) && !isNull(req.Text):
		return invalid("text", `"prompt" and "text" are both given; send one of them`)
	case isNull(req.Prompt) && isNull(req.Text):
		return invalid("prompt", `"prompt" is missing; send a string or an array of strings`)
	case isNull(req.Prompt):
		source, name = req.Text, "text"
	}
	left := maxCallText
	texts, list, err := oneOrMany(source, name, source[0] == '"', "a string or an array of strings", maxLists, func(value []byte, at string) (text string, err *apiError) {
		if value[0] != '"' {
			return "", invalid(name, "%s is %s; it must be a string", at, clipJSON(value))
		}
		if left -= len(value) / maxEscape; left >= 0 { // else it is not read
			text, _ = jsonread.Text(value)
			left -= len(text) - len(value)/maxEscape
		}
		if left < 0 {
			return "", invalid(name, "%s has more than %d bytes of text; split the request", name, own(maxCallText))
		}
		return text, nil
	})
	if err != nil {
		return err
	}
	tokens := make([][]int32, len(texts))
	for i, text := range texts {
		if r.Context().Err() != nil {
			return clientGone(r.Context(), nil)
		}
		tokens[i] = m.Tokenizer.Encode(text, tokenizer.EncodeOptions{AddSpecial: given(req.AddSpecialTokens, true), ParseSpecial: true})
	}
	answer := tokenizeAnswer(tokens, list, m.Context)
	if err := job.parsed(len(answer)); err != nil {
		return err
	}
	writeBody(w, http.StatusOK, answer)
	return nil
}

// tokenizeAnswer is the JSON of {tokens, count, max_model_len}: ids and their number or,
// with list, lists of both. It is without reflection, because there may be millions.
func tokenizeAnswer(tokens [][]int32, list bool, context int) []byte {
	size := 64
	for _, ids := range tokens {
		size += 16 + 7*len(ids)
	}
	each := func(b []byte, one func([]byte, []int32) []byte) []byte {
		if list {
			return appendList(b, tokens, one)
		}
		return one(b, tokens[0])
	}
	b := append(make([]byte, 0, size), `{"tokens":`...)
	b = each(b, func(b []byte, ids []int32) []byte {
		return appendList(b, ids, func(b []byte, id int32) []byte { return strconv.AppendInt(b, int64(id), 10) })
	})
	b = append(b, `,"count":`...)
	b = each(b, func(b []byte, ids []int32) []byte { return strconv.AppendInt(b, int64(len(ids)), 10) })
	b = append(b, `,"max_model_len":`...)
	return append(strconv.AppendInt(b, int64(context), 10), "}\n"...)
}

func appendList[T any](b []byte, list []T, one func([]byte, T) []byte) []byte {
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = one(b, v)
	}
	return append(b, ']')
}

type detokenizeRequest struct {
	Model             string     `json:"model"`
	Tokens            promptJSON `json:"tokens"`
	SkipSpecialTokens *bool      `json:"skip_special_tokens"`
}

// detokenize answers with the text of ids, or with one for each list of ids.
func (s *Server) detokenize(w http.ResponseWriter, r *http.Request, job *work, req *detokenizeRequest) *apiError {
	served, err := s.reach(req.Model)
	if err != nil {
		return err
	}
	m := &served.Model
	if isNull(req.Tokens) {
		return invalid("tokens", `"tokens" is missing; send an array of token ids`)
	}
	left, text := maxDecodedIDs, maxDecodedText
	single := req.Tokens[0] != '[' || skipSpace(req.Tokens[1:])[0] != '['
	lists, list, err := oneOrMany(req.Tokens, "tokens", single, "", maxLists, func(raw []byte, name string) ([]int32, *apiError) {
		if r.Context().Err() != nil {
			return nil, clientGone(r.Context(), nil)
		}
		ids, count, err := parseIDs(m, raw, name, left)
		switch {
		case err != nil:
			return nil, err
		case count > left:
			return nil, invalid("tokens", `"tokens" has more than %d ids; split the request`, own(maxDecodedIDs))
		}
		left -= count
		if text -= m.decodedBytes(ids); text < 0 {
			return nil, invalid("tokens", `the text of "tokens" has more than %d bytes; split the request`, own(maxDecodedText))
		}
		return ids, nil
	})
	if err != nil {
		return err
	}
	texts := make([]string, len(lists))
	for i, ids := range lists {
		if r.Context().Err() != nil {
			return clientGone(r.Context(), nil)
		}
		texts[i] = m.Tokenizer.Decode(ids, tokenizer.DecodeOptions{SkipSpecial: given(req.SkipSpecialTokens, true)})
	}
	var all any = texts
	if !list {
		all = texts[0]
	}
	answer, err := encodeJSON(map[string]any{"text": all, "prompt": all})
	if err == nil {
		err = job.parsed(len(answer))
	}
	if err != nil {
		return err
	}
	writeBody(w, http.StatusOK, answer)
	return nil
}
