package httpapi

import (
	"context"
	"net/http"
	"strconv"

	"github.com/troupe-engine/troupe/internal/jsonread"
	"github.com/troupe-engine/troupe/model/tokenizer"
)

// Bounds of what is turned from text into ids and back in one call, which no
// context limits.
const (
	// maxLists bounds the texts, or the lists of ids, of a call.
	maxLists = 1 << 16
	// maxDecodedIDs bounds the ids of all lists, maxDecodedText the bytes of
	// their texts.
	maxDecodedIDs  = 1 << 20
	maxDecodedText = 8 << 20
)

type tokenizeRequest struct {
	Model            string     `json:"model"`
	Prompt           promptJSON `json:"prompt"`
	Text             promptJSON `json:"text"`
	AddSpecialTokens *bool      `json:"add_special_tokens"`
}

// tokenize answers with the ids of a text or of each of a list.
func (s *Server) tokenize(w http.ResponseWriter, r *http.Request, job *work, req *tokenizeRequest) *apiError {
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
	texts, list, err := parseTexts(source, name)
	if err != nil {
		return err
	}
	tokens := make([][]int32, len(texts))
	for i, text := range texts {
		if r.Context().Err() != nil { // nobody waits for the rest
			return clientGone(r.Context(), nil)
		}
		tokens[i] = s.Model.Tokenizer.Encode(text, tokenizer.EncodeOptions{AddSpecial: given(req.AddSpecialTokens, true), ParseSpecial: true})
	}
	answer := tokenizeAnswer(tokens, list, s.Model.Context)
	if err := job.parsed(len(answer)); err != nil {
		return err
	}
	writeBody(w, http.StatusOK, answer)
	return nil
}

// parseTexts reads a string or a list of strings to tokenise; list tells which.
func parseTexts(raw promptJSON, name string) (texts []string, list bool, err *apiError) {
	left := maxCallText
	add := func(value []byte, param, name string) *apiError {
		text, isText := "", value[0] == '"'
		if isText && len(value)/maxEscape <= left {
			text, _ = jsonread.Text(value)
			left -= len(text)
		} else if isText {
			left = -1
		}
		switch {
		case !isText:
			return invalid(param, "%s is %s; it must be a string", name, clipJSON(value))
		case left < 0:
			return invalid(param, "%s has more than %d bytes of text; split the call", param, own(maxCallText))
		}
		texts = append(texts, text)
		return nil
	}
	if raw[0] == '"' {
		err = add(raw, name, name)
		return texts, false, err
	}
	isArray, err := eachOf(raw, name, maxLists, func(i int, value []byte) *apiError { return add(value, name, indexed(name, i)) })
	if err == nil && !isArray {
		err = invalid(name, "%s must be a string or an array of strings", name)
	}
	return texts, true, err
}

// tokenizeAnswer is the JSON of {tokens, count, max_model_len}: a list of ids
// and a number, or a list of each. It is written here, since there may be
// millions of ids.
func tokenizeAnswer(tokens [][]int32, list bool, context int) []byte {
	size := 64
	for _, ids := range tokens {
		size += 16 + 7*len(ids)
	}
	b := append(make([]byte, 0, size), `{"tokens":`...)
	if list {
		b = appendList(b, tokens, appendIDs)
	} else {
		b = appendIDs(b, tokens[0])
	}
	b = append(b, `,"count":`...)
	count := func(b []byte, ids []int32) []byte { return strconv.AppendInt(b, int64(len(ids)), 10) }
	if list {
		b = appendList(b, tokens, count)
	} else {
		b = count(b, tokens[0])
	}
	b = append(b, `,"max_model_len":`...)
	return append(strconv.AppendInt(b, int64(context), 10), "}\n"...)
}

// appendList writes a JSON array.
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

func appendIDs(b []byte, ids []int32) []byte {
	return appendList(b, ids, func(b []byte, id int32) []byte { return strconv.AppendInt(b, int64(id), 10) })
}

type detokenizeRequest struct {
	Model             string     `json:"model"`
	Tokens            promptJSON `json:"tokens"`
	SkipSpecialTokens *bool      `json:"skip_special_tokens"`
}

// detokenize answers with the text of ids, or with one for each list of ids.
func (s *Server) detokenize(w http.ResponseWriter, r *http.Request, job *work, req *detokenizeRequest) *apiError {
	if err := s.checkModel(req.Model); err != nil {
		return err
	}
	lists, list, err := parseLists(r.Context(), &s.Model, req.Tokens)
	if err != nil {
		return err
	}
	opts := tokenizer.DecodeOptions{SkipSpecial: given(req.SkipSpecialTokens, true)}
	texts := make([]string, len(lists))
	for i, ids := range lists {
		if r.Context().Err() != nil { // nobody waits for the rest
			return clientGone(r.Context(), nil)
		}
		texts[i] = s.Model.Tokenizer.Decode(ids, opts)
	}
	var text any = texts
	if !list {
		text = texts[0]
	}
	answer, err := encodeJSON(map[string]any{"text": text, "prompt": text})
	if err != nil {
		return err
	}
	if err := job.parsed(len(answer)); err != nil {
		return err
	}
	writeBody(w, http.StatusOK, answer)
	return nil
}

// parseLists reads a list of ids, or a list of those; list tells which.
func parseLists(ctx context.Context, m *Model, raw promptJSON) (lists [][]int32, list bool, err *apiError) {
	left, text := maxDecodedIDs, maxDecodedText
	add := func(raw []byte, name string) *apiError {
		if ctx.Err() != nil {
			return clientGone(ctx, nil)
		}
		ids, count, err := parseIDs(m, raw, name, left)
		switch {
		case err != nil:
			return err
		case count > left:
			return invalid("tokens", "tokens has more than %d ids; split the call", own(maxDecodedIDs))
		}
		for _, id := range ids {
			text -= len(m.Tokenizer.TokenBytes(id))
		}
		if text < 0 {
			return invalid("tokens", "tokens decodes to more than %d bytes of text; split the call", own(maxDecodedText))
		}
		left -= count
		lists = append(lists, ids)
		return nil
	}
	if isNull(raw) {
		return nil, false, invalid("tokens", "tokens is missing; send an array of token ids")
	}
	if raw[0] != '[' || skipSpace(raw[1:])[0] != '[' {
		err = add(raw, "tokens")
		return lists, false, err
	}
	_, err = eachOf(raw, "tokens", maxLists, func(i int, one []byte) *apiError { return add(one, indexed("tokens", i)) })
	return lists, true, err
}
