package output

import (
	"context"
	"encoding/json"
	"strings"
)

// derive makes a format of a template that writes calls as JSON objects between marks that are not
// in the catalogue. It compares what the template makes of a message with a call and of one without.
func derive(ctx context.Context, p *probe) (Format, bool) {
	plain, _ := p.answer(ctx, p.message("", probeContent, false))
	_, end, found := strings.Cut(plain, probeContent)
	after, _ := p.answer(ctx, p.message("", probeContent, true))
	_, text, both := strings.Cut(after, probeContent)
	if !found || !both {
		return Format{}, false
	}
	at, object := probeObject(text)
	if object == nil {
		return Format{}, false
	}
	open, rest := text[:at], text[at:]
	decoder := json.NewDecoder(strings.NewReader(rest))
	var raw json.RawMessage
	if decoder.Decode(&raw) != nil {
		return Format{}, false
	}
	closing := strings.TrimSpace(strings.TrimSuffix(rest[len(raw):], end))
	c := Calls{Lead: open[:len(open)-len(strings.TrimLeft(open, " \n"))]}
	open, c.List = strings.CutSuffix(strings.TrimSpace(open), "[")
	open = strings.TrimSpace(open)
	switch {
	case c.List:
		closing, _ = strings.CutPrefix(closing, "]")
		c.Begin, c.End = open, strings.TrimSpace(closing)
	default:
		c.Call.Open, c.Call.Close = open, closing
	}
	c.AtStart = open == ""
	c.Call.Object = object
	return Format{Name: "json", Calls: &c}, true
}

// probeObject finds the innermost object with the probe's call: where it begins, and its keys.
func probeObject(text string) (at int, o *Object) {
	for i := range text {
		if text[i] != '{' {
			continue
		}
		var members map[string]any
		if json.NewDecoder(strings.NewReader(text[i:])).Decode(&members) != nil {
			continue
		}
		if keys := objectKeys(members); keys != nil {
			at, o = i, keys
		}
	}
	return at, o
}

// objectKeys finds the keys of name, arguments and id; nil if name or arguments are missing.
func objectKeys(members map[string]any) *Object {
	var o Object
	for key, value := range members {
		switch v := value.(type) {
		case string:
			switch {
			case v == probeTool:
				o.Name = []string{key}
			case v == probeID:
				o.ID = []string{key}
			case strings.Contains(v, probeValue):
				o.Arguments = []string{key}
			}
		case map[string]any:
			if v[probeKey] == probeValue && len(members) > 1 {
				o.Arguments = []string{key}
			} else if v[probeKey] == probeValue && key == probeTool {
				return &Object{NameIsKey: true}
			}
		}
	}
	if o.Name == nil || o.Arguments == nil {
		return nil
	}
	return &o
}
