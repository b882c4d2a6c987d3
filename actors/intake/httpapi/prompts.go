package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/troupe-engine/troupe/model/tokenizer"
)

// maxPrompts bounds the choices of one call, prompts times n.
const maxPrompts = 1024

// prompt is one prompt of a call.
type prompt struct {
	ids []int32 // frozen
	// text as the client wrote it; "" when it sent ids.
	text string
}

// parsePrompts takes a string, a list of strings, a list of token ids, or a
// list of those; list tells the plural forms from the others.
func parsePrompts(ctx context.Context, m *Model, raw json.RawMessage, param string) (prompts []prompt, list bool, err *apiError) {
	raw = bytes.TrimSpace(raw)
	if isNull(raw) {
		return nil, false, invalid(param, "%s is missing; send text or token ids", param)
	}
	if raw[0] == '"' || isIDs(raw) {
		p, err := parsePrompt(m, raw, param)
		return []prompt{p}, false, err
	}
	var each []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &each) != nil {
		return nil, false, invalid(param, "%s must be a string, an array of strings, an array of token ids, or an array of such arrays", param)
	}
	switch {
	case len(each) == 0:
		return nil, false, invalid(param, "%s is empty; send at least one token", param)
	case len(each) > maxPrompts:
		return nil, false, invalid(param, "%s has %d entries, at most %d are taken in one call", param, own(len(each)), own(maxPrompts))
	}
	prompts = make([]prompt, len(each))
	for i, one := range each {
		if ctx.Err() != nil { // nobody waits for the rest
			return nil, false, gone(ctx, nil)
		}
		if one[0] != '"' && one[0] != '[' {
			return nil, false, invalid(param, "%s[%d] is neither a string nor an array of token ids; do not mix them", param, i)
		}
		if prompts[i], err = parsePrompt(m, one, indexed(param, i)); err != nil {
			err.Param = param
			return nil, false, err
		}
	}
	return prompts, true, nil
}

// parsePrompt takes one string or list of token ids.
func parsePrompt(m *Model, raw json.RawMessage, param string) (prompt, *apiError) {
	if raw[0] != '"' {
		ids, err := parseIDs(m, raw, param)
		if err == nil && len(ids) == 0 {
			err = invalid(param, "%s is empty; send at least one token", param)
		}
		return prompt{ids: ids}, err
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return prompt{}, invalid(param, "%s cannot be read: %v", param, err)
	}
	ids, err := encodePrompt(m, text, param)
	return prompt{ids, text}, err
}

// isIDs reports whether an array begins like one of token ids.
func isIDs(raw json.RawMessage) bool {
	if raw[0] != '[' {
		return false
	}
	rest := bytes.TrimLeft(raw[1:], " \t\r\n")
	return len(rest) > 0 && (rest[0] == '-' || rest[0] >= '0' && rest[0] <= '9')
}

// encodePrompt tokenises text as the model's tokenizer does it for a whole
// input, special tokens included.
func encodePrompt(m *Model, text, param string) ([]int32, *apiError) {
	if !utf8.ValidString(text) {
		return nil, invalid(param, "%s is not valid UTF-8", param)
	}
	if text == "" {
		return nil, invalid(param, "%s is empty; send at least one token", param)
	}
	ids := m.Tokenizer.Encode(text, tokenizer.EncodeOptions{AddSpecial: true, ParseSpecial: true})
	if len(ids) == 0 {
		return nil, invalid(param, "%s gives no token; send at least one", param)
	}
	return ids, nil
}

// parseIDs reads token ids of the model.
func parseIDs(m *Model, raw json.RawMessage, param string) ([]int32, *apiError) {
	var ids []int32
	// null within a list would become a zero without a word.
	if json.Unmarshal(raw, &ids) != nil || bytes.Contains(raw, []byte("null")) {
		return nil, badID(raw, param)
	}
	for i, id := range ids {
		if id < 0 || int(id) >= m.Tokenizer.VocabSize() {
			return nil, invalid(param, "%s has the token id %d at index %d, token ids of this model are in [0, %d)", param, id, own(i), own(m.Tokenizer.VocabSize()))
		}
	}
	return ids, nil
}

// badID says where a list of token ids is none.
func badID(raw json.RawMessage, param string) *apiError {
	var each []json.RawMessage
	if json.Unmarshal(raw, &each) != nil {
		return invalid(param, "%s must be an array of token ids", param)
	}
	for i, one := range each {
		if json.Unmarshal(one, new(int32)) != nil || isNull(one) {
			return invalid(param, "%s[%d] is %s, it must be a token id, an integer", param, i, clip(string(one), 64))
		}
	}
	return invalid(param, "%s must be an array of token ids", param)
}

// isNull reports whether a value is absent or JSON's null.
func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// indexed names an element of a list.
func indexed(param string, i int) string { return fmt.Sprintf("%s[%d]", param, i) }
