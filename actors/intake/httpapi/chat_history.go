package httpapi

import (
	"fmt"
	"strings"

	"github.com/troupe-engine/troupe/model/chat"
)

// modernise rewrites the parts of a message about calls that have an older or newer form
// than chat templates know: function_call, the role function, and calls of custom tools. left
// is how many values the arguments of calls may still have.
func modernise(message *chat.Dict, role, where string, left *int) *apiError {
	dropEmpty(message)
	if function := member(message, "function_call"); function != nil && role == "assistant" && member(message, "tool_calls") == nil {
		if _, isObject := function.(*chat.Dict); !isObject {
			return invalid(where+".function_call", "%s.function_call must be an object with a name and arguments", where)
		}
		call := chat.NewDict(3)
		call.Set("id", "call_"+strings.Trim(where, "mesag[]"))
		call.Set("type", "function")
		call.Set("function", function)
		message.Set("tool_calls", chat.NewList([]any{call}))
	}
	if role == "function" {
		message.Set("role", "tool")
	}
	calls := member(message, "tool_calls")
	if calls == nil {
		return nil
	}
	list, isList := calls.(*chat.List)
	if !isList {
		return invalid(where+".tool_calls", "%s.tool_calls must be an array of objects", where)
	}
	for i, call := range list.Items() {
		at := fmt.Sprintf("%s.tool_calls[%d]", where, i)
		if custom, isCustom := member(call, "custom").(*chat.Dict); isCustom {
			arguments := chat.NewDict(1)
			arguments.Set(customInput, member(custom, customInput))
			function := chat.NewDict(2)
			function.Set("name", member(custom, "name"))
			function.Set("arguments", arguments)
			call.(*chat.Dict).Set("type", "function")
			call.(*chat.Dict).Set("function", function)
		}
		if _, hasName := member(member(call, "function"), "name").(string); !hasName {
			return invalid(at, `%s must be an object such as {"id": "…", "type": "function", "function": {"name": "…", "arguments": "{…}"}}`, at)
		}
		function := member(call, "function").(*chat.Dict)
		if member(function, "arguments") == nil {
			function.Set("arguments", "{}")
		}
		if text, isText := member(function, "arguments").(string); isText {
			if *left -= valuesIn(text); *left < 0 {
				return invalid(at+".function.arguments", "the arguments of calls have more than %d values and keys (reached at %s); send fewer", own(maxValues), at)
			}
		}
	}
	return nil
}

// dropEmpty takes out the parts about calls that hold none. Clients send messages back with
// such parts, and templates of the Llama 3 family ask only whether they are there.
func dropEmpty(message *chat.Dict) {
	for _, key := range []string{"tool_calls", "function_call"} {
		list, isList := member(message, key).(*chat.List)
		if member(message, key) == nil || isList && len(list.Items()) == 0 {
			message.Delete(key)
		}
	}
}

// valuesIn counts the values and keys of JSON in a text, or a few more. Arguments are such texts,
// and templates get them as values, which take many times the memory.
func valuesIn(text string) int {
	n, quoted := 1, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && (c == '[' || c == '{' || c == ',' || c == ':'):
			n++
		}
	}
	return n
}

// callsIn counts the calls in a conversation, and returns their ids.
func callsIn(messages any) (n int, ids map[string]bool) {
	list, _ := messages.(*chat.List)
	if list == nil {
		return 0, nil
	}
	for _, message := range list.Items() {
		calls, isList := member(message, "tool_calls").(*chat.List)
		if !isList {
			continue
		}
		if ids == nil {
			ids = map[string]bool{}
		}
		for _, call := range calls.Items() {
			n++
			if id, isText := member(call, "id").(string); isText {
				ids[id] = true
			}
		}
	}
	return n, ids
}

// plainHistory writes calls and their results as text, for templates that do not know them:
// calls as a JSON list, and results as messages of the user.
func (m *Model) plainHistory(messages *chat.List) (*chat.List, error) {
	var made []any
	var names = map[any]any{} // of tools, by the call's id
	var results []string      // in a row
	ended := func() {
		if len(results) > 0 {
			user := chat.NewDict(2)
			user.Set("role", "user")
			user.Set("content", strings.Join(results, "\n"))
			made, results = append(made, user), results[:0]
		}
	}
	for _, message := range messages.Items() {
		role := member(message, "role")
		calls, _ := member(message, "tool_calls").(*chat.List)
		switch {
		case role == "tool":
			text := fmt.Sprintf("Result: %s", member(message, "content"))
			// A long name, once per result, could be far more than the client has sent.
			if name, _ := names[member(message, "tool_call_id")].(string); name != "" && len(name) <= maxToolName {
				text = fmt.Sprintf("Result of %s: %s", name, member(message, "content"))
			}
			results = append(results, text)
			continue
		case role == "assistant" && calls != nil && len(calls.Items()) > 0:
			for _, call := range calls.Items() {
				names[member(call, "id")] = member(member(call, "function"), "name")
			}
			text, _ := member(message, "content").(string)
			written, err := plainCalls(calls)
			if err != nil {
				return nil, err
			}
			plain := chat.NewDict(2)
			plain.Set("role", role)
			plain.Set("content", strings.TrimSpace(text+"\n"+written))
			message = plain
		}
		ended()
		made = append(made, message)
	}
	ended()
	return chat.NewList(made), nil
}

// plainCalls are calls as output.Plain reads them.
func plainCalls(calls *chat.List) (string, error) {
	var list []any
	for _, call := range calls.Items() {
		function := member(call, "function")
		arguments := member(function, "arguments")
		if text, isText := arguments.(string); isText {
			if value, err := chat.DecodeJSON([]byte(text)); err == nil {
				arguments = value
			}
		}
		one := chat.NewDict(2)
		one.Set("name", member(function, "name"))
		one.Set("arguments", arguments)
		list = append(list, one)
	}
	return chat.JSON(chat.NewList(list))
}

// plainTools describes tools to a model whose template does not, at the begin of the
// conversation: not every template has a place for a message of the system there.
func plainTools(messages *chat.List, tools any) (*chat.List, error) {
	described, err := chat.JSON(tools)
	if err != nil {
		return nil, err
	}
	items := append([]any(nil), messages.Items()...)
	first, _ := items[0].(*chat.Dict)
	made := chat.NewDict(first.Len())
	for key, value := range first.All() {
		if text, isText := value.(string); isText && key == "content" {
			value = "You can call these tools: " + described + "\n" +
				`To call them, answer with a JSON list only: [{"name": "…", "arguments": {…}}]` + "\n\n" + text
		}
		made.Set(key, value)
	}
	items[0] = made
	return chat.NewList(items), nil
}
