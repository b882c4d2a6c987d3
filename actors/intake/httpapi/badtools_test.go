package httpapi_test

import (
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// function is a tool, with members of its function.
func function(name string, more ...object) object {
	f := object{"name": name}
	for _, m := range more {
		f = merge(f, m)
	}
	return object{"type": "function", "function": f}
}

func TestBadTools(t *testing.T) {
	s := startDialogue(t, dialogues["hermes"])
	tools := func(tools ...any) object {
		return object{"messages": list{question}, "tools": append(list{}, tools...)}
	}
	choice := func(choice any) object {
		return merge(tools(function("f"), function("g")), object{"tool_choice": choice})
	}
	many := make(list, 513)
	for i := range many {
		many[i] = function("f")
	}
	custom := func(format any) object {
		return tools(object{"type": "custom", "custom": object{"name": "c", "format": format}})
	}
	refuse(t, s, "/v1/chat/completions", map[string]badBody{
		"no list":                 {object{"messages": list{question}, "tools": "f"}, 400, "tools", nil, "array of objects"},
		"no object":               {tools("f"), 400, "tools[0]", nil, "must be an object such as"},
		"null":                    {tools(nil), 400, "tools[0]", nil, "must be an object such as"},
		"another type":            {tools(object{"type": "web_search"}), 400, "tools[0].type", nil, `"web_search"; it must be "function" or "custom"`},
		"no function":             {tools(object{"type": "function"}), 400, "tools[0].function", nil, "is missing"},
		"flat":                    {tools(object{"type": "function", "name": "f"}), 400, "tools[0].function", nil, "is missing"},
		"no name":                 {tools(object{"type": "function", "function": object{}}), 400, "tools[0].function.name", nil, "has no name"},
		"empty name":              {tools(function("")), 400, "tools[0].function.name", nil, "has no name"},
		"a name with a space":     {tools(function("a b")), 400, "tools[0].function.name", nil, "letters, digits"},
		"a name of a mark":        {tools(function("</tool_call>")), 400, "tools[0].function.name", nil, "letters, digits"},
		"a long name":             {tools(function(strings.Repeat("f", 129))), 400, "tools[0].function.name", nil, "at most 128"},
		"one name twice":          {tools(function("f"), function("g"), function("f")), 400, "tools[2].function.name", nil, "a name of its own"},
		"a name is a number":      {tools(object{"type": "function", "function": object{"name": 3}}), 400, "tools[0].function.name", nil, "must be a string, not a number"},
		"a function is a text":    {tools(object{"type": "function", "function": "f"}), 400, "tools[0].function", nil, "must be an object with a name"},
		"strict is a text":        {tools(function("f", object{"strict": "yes"})), 400, "tools[0].function.strict", nil, "must be a boolean, not a string"},
		"custom format a text":    {custom("text"), 400, "tools[0].custom.format", nil, "must be an object, not a string"},
		"custom grammar":          {custom(object{"type": "grammar", "grammar": object{"syntax": "lark", "definition": "start: ("}}), 400, "tools[0].custom.format.grammar.definition", "invalid_grammar", "at line 1, column 8: the group is not closed"},
		"a content's grammar":     {merge(choice("auto"), object{"structured_outputs": object{"grammar": "start: ("}}), 400, "structured_outputs.grammar", "invalid_grammar", "at line 1, column 8: the group is not closed"},
		"names are exact":         {tools(object{"type": "function", "Function": object{"name": "f"}}), 400, "tools[0].function", nil, "is missing"},
		"a choice's name":         {choice(object{"type": "function", "function": object{"name": 3}}), 400, "tool_choice.function.name", nil, "must be a string, not a number"},
		"an empty choice":         {choice(""), 400, "tool_choice", nil, `"auto", "none" or "required"`},
		"allowed is no list":      {choice(object{"type": "allowed_tools", "allowed_tools": object{"mode": "auto", "tools": "f"}}), 400, "tool_choice.allowed_tools.tools", nil, "an array of objects"},
		"allowed is a name":       {choice(object{"type": "allowed_tools", "allowed_tools": object{"mode": "auto", "tools": list{"f"}}}), 400, "tool_choice.allowed_tools.tools[0]", nil, "must be an object such as"},
		"parameters no object":    {tools(function("f", object{"parameters": list{}})), 400, "tools[0].function.parameters", nil, "JSON schema of an object"},
		"too many":                {object{"messages": list{question}, "tools": many}, 400, "tools[1].function.name", nil, "a name of its own"},
		"tools and functions":     {merge(tools(function("f")), object{"functions": list{object{"name": "f"}}}), 400, "functions", nil, "both given"},
		"two choices":             {merge(choice("auto"), object{"function_call": "auto"}), 400, "function_call", nil, "both given"},
		"custom format":           {custom(object{"type": "json"}), 400, "tools[0].custom.format", nil, `{"type": "text"}`},
		"custom syntax":           {custom(object{"type": "grammar", "grammar": object{"syntax": "ebnf", "definition": "x"}}), 400, "tools[0].custom.format.grammar.syntax", nil, `"lark" or "regex"`},
		"a choice of no tools":    {object{"messages": list{question}, "tool_choice": "required"}, 400, "tool_choice", nil, "there are no tools"},
		"a choice of empty":       {object{"messages": list{question}, "tools": list{}, "tool_choice": object{"type": "function", "function": object{"name": "f"}}}, 400, "tool_choice", nil, "there are no tools"},
		"an unknown word":         {choice("always"), 400, "tool_choice", nil, `"auto", "none" or "required"`},
		"a number":                {choice(3), 400, "tool_choice", nil, `"auto", "none" or "required"`},
		"an unknown tool":         {choice(object{"type": "function", "function": object{"name": "h"}}), 400, "tool_choice", nil, `"h", which is not among the tools`},
		"another kind of tool":    {choice(object{"type": "custom", "custom": object{"name": "f"}}), 400, "tool_choice", nil, "not among the tools"},
		"an unknown type":         {choice(object{"type": "file_search"}), 400, "tool_choice.type", nil, `"file_search"`},
		"allowed without tools":   {choice(object{"type": "allowed_tools", "allowed_tools": object{"mode": "auto", "tools": list{}}}), 400, "tool_choice.allowed_tools", nil, "at least one tool"},
		"allowed without more":    {choice(object{"type": "allowed_tools"}), 400, "tool_choice.allowed_tools", nil, "at least one tool"},
		"allowed mode":            {choice(object{"type": "allowed_tools", "allowed_tools": object{"mode": "none", "tools": list{function("f")}}}), 400, "tool_choice.allowed_tools.mode", nil, `"auto" or "required"`},
		"allowed unknown":         {choice(object{"type": "allowed_tools", "allowed_tools": object{"mode": "auto", "tools": list{function("f"), function("x")}}}), 400, "tool_choice.allowed_tools.tools[1]", nil, "not among the tools"},
		"parallel":                {merge(choice("auto"), object{"parallel_tool_calls": "no"}), 400, "parallel_tool_calls", nil, "a boolean"},
		"reasoning_format":        {merge(choice("auto"), object{"reasoning_format": "html"}), 400, "reasoning_format", nil, `"auto", "deepseek" or "none"`},
		"a budget below":          {merge(choice("auto"), object{"thinking_budget": -2}), 400, "thinking_budget", nil, "between -1 and"},
		"two budgets":             {merge(choice("auto"), object{"thinking_budget": 2, "thinking": object{"type": "enabled", "budget_tokens": 3}}), 400, "thinking.budget_tokens", nil, "both given and differ"},
		"calls are no list":       {object{"messages": list{object{"role": "assistant", "content": "", "tool_calls": "f"}}}, 400, "messages[0].tool_calls", nil, "array of objects"},
		"a call without a name":   {object{"messages": list{object{"role": "assistant", "content": "", "tool_calls": list{object{"function": object{}}}}}}, 400, "messages[0].tool_calls[0]", nil, "must be an object such as"},
		"function_call":           {object{"messages": list{object{"role": "assistant", "content": nil, "function_call": "f"}}}, 400, "messages[0].function_call", nil, "must be an object"},
		"a function that is null": {object{"messages": list{question}, "functions": list{nil}}, 400, "functions[0]", nil, "must be an object with a name"},
	})
}

// A model whose template knows no tools cannot choose to call one.
func TestToolsThatTheTemplateDoesNotKnow(t *testing.T) {
	s := testserver.Start(t, testserver.Options{})
	body := object{"messages": list{question}, "tools": list{function("f")}}
	refuse(t, s, "/v1/chat/completions", map[string]badBody{
		"no choice": {body, 400, "tool_choice", nil, `set tool_choice to "required"`},
		"auto":      {merge(body, object{"tool_choice": "auto"}), 400, "tool_choice", nil, "has no tools"},
	})
}

func TestTooManyTools(t *testing.T) {
	s := startDialogue(t, dialogues["hermes"])
	many := make(list, 513)
	for i := range many {
		many[i] = function("f" + strings.Repeat("x", i%100) + string(rune('a'+i/100)))
	}
	a := send(t, s, "POST", "/v1/chat/completions", object{"messages": list{question}, "tools": many})
	if e := errorOf(t, a); a.status != 400 || e["param"] != "tools" || !strings.Contains(e["message"].(string), "more than 512") {
		t.Errorf("%d %v", a.status, e)
	}
}
