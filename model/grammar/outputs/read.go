package outputs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/troupe-engine/troupe/model/chat/output"
	"github.com/troupe-engine/troupe/model/grammar/cfg"
)

// read reads a spec. Fields that it does not have are errors.
func read(text []byte) (*Spec, error) {
	fields, err := fieldsOf("", text, "format", "opened", "no_thoughts", "content", "tools", "required", "single")
	if err != nil {
		return nil, err
	}
	s := &Spec{}
	if err := decode("/format", fields["format"], &s.Format); err != nil {
		return nil, err
	}
	for name, to := range map[string]any{"opened": &s.Opened, "no_thoughts": &s.NoThoughts, "required": &s.Required, "single": &s.Single} {
		if err := decode("/"+name, fields[name], to); err != nil {
			return nil, err
		}
	}
	if s.Content, err = readText("/content", fields["content"]); err != nil {
		return nil, err
	}
	var tools []json.RawMessage
	if err := decode("/tools", fields["tools"], &tools); err != nil {
		return nil, err
	}
	for i, text := range tools {
		t, err := readTool(fmt.Sprintf("/tools/%d", i), text)
		if err != nil {
			return nil, err
		}
		s.Tools = append(s.Tools, t)
	}
	return s, s.check()
}

func readTool(at string, text []byte) (t Tool, err error) {
	fields, err := fieldsOf(at, text, "name", "parameters", "strict", "input")
	if err != nil {
		return t, err
	}
	if err := decode(at+"/name", fields["name"], &t.Name); err != nil {
		return t, err
	}
	if err := decode(at+"/strict", fields["strict"], &t.Strict); err != nil {
		return t, err
	}
	if p := fields["parameters"]; p != nil && string(p) != "null" {
		t.Parameters = p
	}
	t.Input, err = readText(at+"/input", fields["input"])
	return t, err
}

func readText(at string, text []byte) (*Text, error) {
	if text == nil || string(text) == "null" {
		return nil, nil
	}
	fields, err := fieldsOf(at, text, "kind", "text")
	if err != nil {
		return nil, err
	}
	t := &Text{}
	if err := decode(at+"/kind", fields["kind"], &t.Kind); err != nil {
		return nil, err
	}
	return t, decode(at+"/text", fields["text"], &t.Text)
}

// fieldsOf reads an object with some of these fields.
func fieldsOf(at string, text []byte, known ...string) (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil || fields == nil {
		return nil, invalid(at, "expected a JSON object", "")
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(known, name) {
			return nil, invalid(at+"/"+cfg.PointerPart(name), "unknown field", "the fields are "+strings.Join(known, ", "))
		}
	}
	return fields, nil
}

// decode reads a field; nil leaves it as it is.
func decode(at string, text []byte, to any) error {
	if text == nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return invalid(at, strings.TrimPrefix(err.Error(), "json: "), "")
	}
	return nil
}

// check finds what contradicts itself.
func (s *Spec) check() error {
	f := &s.Format
	if f.Messages == nil && f.Calls == nil && len(s.Tools) > 0 {
		return invalid("/tools", fmt.Sprintf("the format %q has no calls", f.Name), "leave the tools out, or name a tool parser")
	}
	if s.Required && len(s.Tools) == 0 {
		return invalid("/required", "a call is required, and there is no tool", "give a tool, or leave this out")
	}
	if c := f.Calls; c != nil {
		switch call := &c.Call; {
		case call.Object == nil && len(call.Headers) == 0:
			return invalid("/format/calls/call", "a call needs headers or an object", "")
		case call.Arguments < output.JSON || call.Arguments > output.Bare:
			return invalid("/format/calls/call/arguments", "there is no such way to write arguments", "")
		case call.Object == nil && call.Arguments == output.XML && (call.Params == nil || call.Params.Open == "" || call.Params.Close == "" || call.Params.End == "" || len(call.Params.Headers) == 0):
			return invalid("/format/calls/call/params", "arguments between tags need all marks of params", "")
		case call.Object != nil && !call.Object.NameIsKey && (len(call.Object.Name) == 0 || len(call.Object.Arguments) == 0):
			return invalid("/format/calls/call/object", "an object needs the keys of name and arguments", "")
		case c.Begin == "" && call.Open == "" && !c.AtStart:
			return invalid("/format/calls", "nothing marks where calls begin", "")
		}
	}
	if m := f.Messages; m != nil && (m.Start == "" || m.Channel == "" || m.Body == "" || m.Recipient == "" || len(m.Ends) == 0 || slices.Contains(m.Ends, "")) {
		return invalid("/format/messages", "messages need all marks", "")
	}
	seen := map[string]bool{}
	for i, t := range s.Tools {
		at := fmt.Sprintf("/tools/%d", i)
		switch {
		case t.Name == "":
			return invalid(at+"/name", "the tool has no name", "give it one")
		case seen[t.Name]:
			return invalid(at+"/name", fmt.Sprintf("there are two tools named %q", t.Name), "give each tool a name of its own")
		case t.Input != nil && t.Parameters != nil:
			return invalid(at+"/parameters", "a tool with an input has no parameters", "leave one of them out")
		case t.Input != nil && t.Input.Kind != "lark" && t.Input.Kind != "regex":
			return invalid(at+"/input/kind", fmt.Sprintf("the kind of an input is %q", t.Input.Kind), "use lark or regex")
		}
		seen[t.Name] = true
	}
	return nil
}

func invalid(at, reason, remedy string) error {
	return &Error{at, &cfg.Error{Reason: reason, Remedy: remedy}}
}
