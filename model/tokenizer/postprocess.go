package tokenizer

import (
	"encoding/json"
	"fmt"
)

const knownPostProcessors = "Sequence, TemplateProcessing, ByteLevel, BertProcessing, RobertaProcessing"

// template is what a post-processor puts around the ids of one text.
type template struct{ before, after []int32 }

// parsePostProcessor reads the "post_processor" component. known says whether
// an id exists.
func parsePostProcessor(raw json.RawMessage, known func(int64) bool) (template, error) {
	var t template
	err := sequence(raw, "post_processor", "processors", func(raw json.RawMessage, kind, at string) error {
		var outer template
		var err error
		switch kind {
		case "ByteLevel": // changes offsets only
		case "TemplateProcessing":
			outer, err = parseTemplate(raw, at, known)
		case "BertProcessing", "RobertaProcessing":
			outer, err = parseClsSep(raw, at, known)
		default:
			err = refused(at, kind, knownPostProcessors)
		}
		t.before = append(outer.before, t.before...)
		t.after = append(t.after, outer.after...)
		return err
	})
	return t, err
}

func parseTemplate(raw json.RawMessage, at string, known func(int64) bool) (template, error) {
	var f struct {
		Single []struct {
			SpecialToken *struct {
				ID string `json:"id"`
			} `json:"SpecialToken"`
			Sequence *struct {
				ID string `json:"id"`
			} `json:"Sequence"`
		} `json:"single"`
		SpecialTokens map[string]struct {
			IDs []int64 `json:"ids"`
		} `json:"special_tokens"`
	}
	var t template
	if err := decodeJSON(raw, &f); err != nil {
		return t, fmt.Errorf("%s: %w", at, err)
	}
	texts := 0
	for i, item := range f.Single {
		switch {
		case item.Sequence != nil && item.SpecialToken == nil && item.Sequence.ID == "A":
			texts++
		case item.SpecialToken != nil && item.Sequence == nil:
			tok, ok := f.SpecialTokens[item.SpecialToken.ID]
			if !ok {
				return t, fmt.Errorf("%s.single[%d]: %s is not in %s.special_tokens; add it", at, i, clip(item.SpecialToken.ID), at)
			}
			for _, id := range tok.IDs {
				if !known(id) {
					return t, fmt.Errorf("%s.special_tokens[%s]: no token has id %d; correct the id", at, clip(item.SpecialToken.ID), id)
				}
				if texts == 0 {
					t.before = append(t.before, int32(id))
				} else {
					t.after = append(t.after, int32(id))
				}
			}
		default:
			return t, fmt.Errorf("%s.single[%d] must be a SpecialToken or the Sequence \"A\"", at, i)
		}
	}
	if texts != 1 {
		return t, fmt.Errorf("%s.single has the Sequence \"A\" %d times; it must be there once", at, texts)
	}
	return t, nil
}

// parseClsSep reads {"cls": [token, id], "sep": [token, id]}.
func parseClsSep(raw json.RawMessage, at string, known func(int64) bool) (template, error) {
	var f struct {
		Cls []json.RawMessage `json:"cls"`
		Sep []json.RawMessage `json:"sep"`
	}
	if err := decodeJSON(raw, &f); err != nil {
		return template{}, fmt.Errorf("%s: %w", at, err)
	}
	ids := [2]int64{}
	for i, pair := range [][]json.RawMessage{f.Cls, f.Sep} {
		name := []string{"cls", "sep"}[i]
		if len(pair) != 2 {
			return template{}, fmt.Errorf("%s.%s must be [token, id]", at, name)
		}
		if err := decodeJSON(pair[1], &ids[i]); err != nil {
			return template{}, fmt.Errorf("%s.%s[1]: %w", at, name, err)
		}
		if !known(ids[i]) {
			return template{}, fmt.Errorf("%s.%s: no token has id %d; correct the id", at, name, ids[i])
		}
	}
	return template{before: []int32{int32(ids[0])}, after: []int32{int32(ids[1])}}, nil
}
