package tokenizer

import "encoding/json"

const knownPostProcessors = "Sequence, TemplateProcessing, ByteLevel, BertProcessing, RobertaProcessing"

// template has the ids that a post-processor puts around those of a text.
type template struct{ before, after []int32 }

// templateItem is an element of a template: one of the two.
type templateItem struct{ SpecialToken, Sequence *struct{ ID string } }

func (t *Tokenizer) readPostProcessor(raw json.RawMessage) error {
	return components(raw, "post_processor", "processors", func(c *component) (err error) {
		var outer template
		switch c.Type {
		case "ByteLevel": // changes offsets only
		case "TemplateProcessing":
			outer, err = c.template(t)
		case "BertProcessing", "RobertaProcessing":
			if outer.before, err = c.end(t, "cls", c.Cls); err == nil {
				outer.after, err = c.end(t, "sep", c.Sep)
			}
		default:
			err = c.refused(knownPostProcessors)
		}
		t.around.before = append(outer.before, t.around.before...)
		t.around.after = append(t.around.after, outer.after...)
		return err
	})
}

func (c *component) template(t *Tokenizer) (around template, err error) {
	texts := 0
	for i, item := range c.Single {
		switch {
		case item.Sequence != nil && item.SpecialToken == nil && item.Sequence.ID == "A":
			texts++
		case item.SpecialToken != nil && item.Sequence == nil:
			name := item.SpecialToken.ID
			tok, ok := c.SpecialTokens[name]
			if !ok {
				return around, c.fail(".single[%d]: %s is not in %s.special_tokens; use the model's original file", i, clip(name), c.at)
			}
			for _, id := range tok.IDs {
				if !t.known(id) {
					return around, c.fail(".special_tokens[%s]: no token has id %d; use the model's original file", clip(name), id)
				}
				if texts == 0 {
					around.before = append(around.before, int32(id))
				} else {
					around.after = append(around.after, int32(id))
				}
			}
		default:
			return around, c.fail(".single[%d] must be a SpecialToken or the Sequence \"A\"; use the model's original file", i)
		}
	}
	if texts != 1 {
		return around, c.fail(".single has the Sequence \"A\" %d times; it must have it exactly once; use the model's original file", texts)
	}
	return around, nil
}

// end reads the [token, id] of an end of the text.
func (c *component) end(t *Tokenizer, name string, pair []json.RawMessage) ([]int32, error) {
	if len(pair) != 2 {
		return nil, c.fail(".%s must be [token, id]; use the model's original file", name)
	}
	var id int64
	if err := decodeJSON(pair[1], &id); err != nil {
		return nil, c.fail(".%s[1]: %w", name, err)
	}
	if !t.known(id) {
		return nil, c.fail(".%s: no token has id %d; use the model's original file", name, id)
	}
	return []int32{int32(id)}, nil
}

func (t *Tokenizer) known(id int64) bool {
	return id >= 0 && id <= maxTokenID && t.flag(int32(id))&flagKnown != 0
}
