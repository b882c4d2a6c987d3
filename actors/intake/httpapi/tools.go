package httpapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/troupe-engine/troupe/model/chat"
	"github.com/troupe-engine/troupe/model/chat/output"
	"github.com/troupe-engine/troupe/model/grammar"
	"github.com/troupe-engine/troupe/model/grammar/outputs"
)

// calling are the parameters about tools, and their older names for functions.
type calling struct {
	Tools        json.RawMessage `json:"tools"`
	ToolChoice   json.RawMessage `json:"tool_choice"`
	Parallel     *bool           `json:"parallel_tool_calls"`
	Functions    json.RawMessage `json:"functions"`
	FunctionCall json.RawMessage `json:"function_call"`
}

// Bounds of the tools of a request.
const (
	maxTools    = 512
	maxToolName = 128 // bytes
)

// tool is a tool that the model may call.
type tool struct {
	outputs.Tool
	at     string // where it is in the body, such as tools[1].function
	custom bool   // its only argument is a text
}

// toolbox is what a request says about tools.
type toolbox struct {
	all      []tool
	callable []tool // those that tool_choice allows
	shown    any    // what the chat template gets; nil: there are none
	required bool   // the output is a call
	single   bool   // there is one call at most
	legacy   bool   // the client knows functions only
}

// may reports whether the model may call a tool.
func (t *toolbox) may() bool { return t != nil && len(t.callable) > 0 }

// find returns the tool of a name that may be called; nil if there is none.
func (t *toolbox) find(name string) *tool {
	if t == nil {
		return nil
	}
	if i := slices.IndexFunc(t.callable, func(one tool) bool { return one.Name == name }); i >= 0 {
		return &t.callable[i]
	}
	return nil
}

// read reads the tools; nil without any.
func (c *calling) read() (*toolbox, *apiError) {
	t, raw, param := &toolbox{single: !given(c.Parallel, true)}, c.Tools, "tools"
	if isNull(raw) && !isNull(c.Functions) {
		raw, param, t.legacy = c.Functions, "functions", true
	} else if !isNull(c.Functions) && !emptyList(c.Functions) {
		return nil, invalid("functions", "tools and functions are both given; send tools")
	}
	if err := t.readAll(raw, param); err != nil {
		return nil, err
	}
	choice, name := c.ToolChoice, "tool_choice"
	switch {
	case isNull(choice) && !isNull(c.FunctionCall):
		choice, name = c.FunctionCall, "function_call"
	case !isNull(c.FunctionCall):
		return nil, invalid("function_call", "tool_choice and function_call are both given; send tool_choice")
	}
	if t.single = t.single || t.legacy; isNull(choice) {
		choice = json.RawMessage(`"auto"`)
	}
	if err := t.choose(choice, name); err != nil || len(t.all) == 0 {
		return nil, err
	}
	return t, nil
}

func emptyList(raw []byte) bool { return string(raw) == "[]" }

// readAll reads the list of tools, and makes what the chat template gets: the JSON that the
// client has sent, in the form of functions.
func (t *toolbox) readAll(raw json.RawMessage, param string) *apiError {
	if isNull(raw) || emptyList(raw) {
		return nil
	}
	var shown []any
	names := map[string]bool{}
	isList, err := eachOf(raw, param, maxTools, func(i int, raw []byte) *apiError {
		one, view, err := t.readOne(raw, fmt.Sprintf("%s[%d]", param, i))
		switch {
		case err != nil:
			return err
		case names[one.Name]:
			return invalid(one.at+".name", "%s.name is %q, and so is another one; give each tool a name of its own", one.at, clip(one.Name, maxToolName))
		}
		names[one.Name] = true
		t.all, shown = append(t.all, one), append(shown, view)
		return nil
	})
	if err == nil && !isList {
		err = invalid(param, "%s must be an array of objects", param)
	}
	t.shown = chat.NewList(shown)
	return err
}

// toolJSON is a tool, or a function of the older form.
type toolJSON struct {
	Type     *string         `json:"type"`
	Function json.RawMessage `json:"function"`
	Custom   json.RawMessage `json:"custom"`
}

type functionJSON struct {
	Name        *string         `json:"name"`
	Description onlyText        `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict"`
	Format      *struct {
		Type    string `json:"type"`
		Grammar *struct {
			Syntax     string `json:"syntax"`
			Definition string `json:"definition"`
		} `json:"grammar"`
	} `json:"format"`
}

// onlyText is a text that is checked and not kept: the template gets the client's JSON.
type onlyText struct{}

func (onlyText) UnmarshalJSON(raw []byte) error {
	if raw[0] != '"' && string(raw) != "null" {
		return errors.New("the description must be a text")
	}
	return nil
}

func (t *toolbox) readOne(raw []byte, at string) (one tool, shown any, err *apiError) {
	function := json.RawMessage(raw)
	if !t.legacy {
		var outer toolJSON
		if raw[0] != '{' {
			return one, nil, invalid(at, `%s must be an object such as {"type": "function", "function": {"name": "…", "parameters": {…}}}`, at)
		}
		if err := readObject(raw, &outer, at); err != nil {
			return one, nil, err
		}
		kind := given(outer.Type, "function")
		switch kind {
		case "function":
			function = outer.Function
		case "custom":
			function, one.custom = outer.Custom, true
		default:
			return one, nil, invalid(at+".type", `%s.type is %q; it must be "function" or "custom": other tools have to run at the client`, at, clip(kind, 64))
		}
		if at += "." + kind; isNull(function) {
			return one, nil, invalid(at, `%s is missing; send {"type": %q, %q: {"name": "…"}}`, at, own(kind), own(kind))
		}
	}
	var f functionJSON
	if function[0] != '{' {
		return one, nil, invalid(at, "%s must be an object with a name, a description and parameters", at)
	}
	if err := readObject(function, &f, at); err != nil {
		return one, nil, err
	}
	one.at, one.Name, one.Strict = at, given(f.Name, ""), given(f.Strict, false)
	switch {
	case one.Name == "":
		return one, nil, invalid(at+".name", "%s has no name; give it one", at)
	case len(one.Name) > maxToolName || !output.ValidName(one.Name):
		return one, nil, invalid(at+".name", "%s.name is %q; it must have at most %d characters: ASCII letters, digits, and others such as _ - . and :", at, clip(one.Name, maxToolName), own(maxToolName))
	case one.custom:
		if one.Input, err = f.input(at); err != nil {
			return one, nil, err
		}
		one.Parameters, one.Strict = customParameters, true
	case !isNull(f.Parameters) && f.Parameters[0] != '{':
		return one, nil, invalid(at+".parameters", "%s.parameters must be a JSON schema of an object", at)
	case !isNull(f.Parameters):
		one.Parameters = f.Parameters
	}
	view, failed := chat.DecodeJSON(function)
	if failed != nil {
		return one, nil, invalid(at, "%s cannot be read: %v", at, failed)
	}
	return one, shownTool(view.(*chat.Dict), one.custom), nil
}

// customParameters are those of a custom tool, for a model that knows functions only.
var customParameters = json.RawMessage(outputs.InputParameters)

const customInput = outputs.InputKey

// shownTool is a function as chat templates expect it. What only says how calls are
// enforced is left out: models have not been trained with it.
func shownTool(function *chat.Dict, custom bool) any {
	made := chat.NewDict(function.Len() + 1)
	for key, value := range function.All() {
		if key != "strict" && (key != "format" || !custom) {
			made.Set(key, value)
		}
	}
	if custom {
		parameters, _ := chat.DecodeJSON(customParameters) // it is ours
		made.Set("parameters", parameters)
	}
	outer := chat.NewDict(2)
	outer.Set("type", "function")
	outer.Set("function", made)
	return outer
}

// input is what the text of a custom tool must match; nil: it may be any.
func (f *functionJSON) input(at string) (*outputs.Text, *apiError) {
	switch {
	case f.Format == nil || f.Format.Type == "text":
		return nil, nil
	case f.Format.Type != "grammar" || f.Format.Grammar == nil:
		return nil, invalid(at+".format", `%s.format must be {"type": "text"}, or {"type": "grammar", "grammar": {"syntax": "lark", "definition": "…"}}`, at)
	}
	switch g := f.Format.Grammar; g.Syntax {
	case "lark", "regex":
		kind := grammar.Lark
		if g.Syntax == "regex" {
			kind = grammar.Regex
		}
		return &outputs.Text{Kind: string(kind), Text: g.Definition}, nil
	default:
		return nil, invalid(at+".format.grammar.syntax", `%s.format.grammar.syntax is %q; it must be "lark" or "regex"`, at, clip(g.Syntax, 64))
	}
}

// choiceJSON is a tool_choice that is an object.
type choiceJSON struct {
	Type     string         `json:"type"`
	Name     string         `json:"name"` // of function_call
	Function *namedJSON     `json:"function"`
	Custom   *namedJSON     `json:"custom"`
	Allowed  *allowedChoice `json:"allowed_tools"`
}

type namedJSON struct {
	Name string `json:"name"`
}

type allowedChoice struct {
	Mode  string          `json:"mode"`
	Tools json.RawMessage `json:"tools"` // each is a choiceJSON
}

// choose reads tool_choice.
func (t *toolbox) choose(raw json.RawMessage, param string) *apiError {
	word, object := "", choiceJSON{}
	switch {
	case raw[0] == '{':
		if err := readObject(raw, &object, param); err != nil {
			return err
		}
	case json.Unmarshal(raw, &word) != nil || word == "":
		return badChoice(param, raw)
	}
	switch {
	case word == "none":
		t.shown = nil // a model that sees tools would call them
		return nil
	case word == "auto":
		t.callable = t.all
		return nil
	case len(t.all) == 0:
		return invalid(param, "%s is %s, but there are no tools; send tools, or leave %s out", param, clipJSON(raw), param)
	case word == "required" || word == "any":
		t.callable, t.required = t.all, true
		return nil
	case word != "":
		return badChoice(param, raw)
	case object.Type == "allowed_tools":
		return t.allow(object.Allowed, param+".allowed_tools")
	}
	one, err := t.named(&object, param)
	if err != nil {
		return err
	}
	t.callable, t.required, t.single = []tool{*one}, true, true
	return nil
}

func badChoice(param string, raw []byte) *apiError {
	return invalid(param, `%s is %s; it must be "auto", "none" or "required", or name a tool: {"type": "function", "function": {"name": "…"}}`, param, clipJSON(raw))
}

// named finds the tool that a choice names.
func (t *toolbox) named(c *choiceJSON, param string) (*tool, *apiError) {
	name, kind := c.Name, cmp.Or(c.Type, "function")
	switch {
	case kind == "function" && c.Function != nil:
		name = c.Function.Name
	case kind == "custom" && c.Custom != nil:
		name = c.Custom.Name
	case kind != "function" && kind != "custom":
		return nil, invalid(param+".type", `%s.type is %q; it must be "function", "custom" or "allowed_tools"`, param, clip(kind, 64))
	}
	for i := range t.all {
		if one := &t.all[i]; one.Name == name && one.custom == (kind == "custom") {
			return one, nil
		}
	}
	return nil, invalid(param, "%s names the tool %q, which is not among the tools; name one of them, or add it", param, clip(name, maxToolName))
}

// allow restricts the calls to some of the tools. The template gets all of them, so that
// the beginning of the prompt stays the same, and cached, when the choice changes.
func (t *toolbox) allow(allowed *allowedChoice, param string) *apiError {
	if allowed == nil || isNull(allowed.Tools) || emptyList(allowed.Tools) {
		return invalid(param, `%s needs a mode and at least one tool: {"mode": "auto", "tools": [{"type": "function", "function": {"name": "…"}}]}`, param)
	}
	switch allowed.Mode {
	case "auto":
	case "required":
		t.required = true
	default:
		return invalid(param+".mode", `%s.mode is %q; it must be "auto" or "required"`, param, clip(allowed.Mode, 64))
	}
	names := map[string]bool{}
	isList, err := eachOf(allowed.Tools, param+".tools", maxTools, func(i int, raw []byte) *apiError {
		at, choice := fmt.Sprintf("%s.tools[%d]", param, i), choiceJSON{}
		if raw[0] != '{' {
			return invalid(at, `%s must be an object such as {"type": "function", "function": {"name": "…"}}`, at)
		}
		if err := readObject(raw, &choice, at); err != nil {
			return err
		}
		one, err := t.named(&choice, at)
		if err == nil {
			names[one.Name] = true
		}
		return err
	})
	if err == nil && !isList {
		err = invalid(param+".tools", "%s.tools must be an array of objects", param)
	}
	if err != nil {
		return err
	}
	for _, one := range t.all { // in their order
		if names[one.Name] {
			t.callable = append(t.callable, one)
		}
	}
	return nil
}
