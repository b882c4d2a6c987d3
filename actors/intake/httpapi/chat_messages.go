package httpapi

import (
	"fmt"
	"strings"

	"github.com/troupe-engine/troupe/model/chat"
)

// The members of a message that are required, and a part of its content.
type (
	messageHead struct {
		Role    string `json:"role"`
		Content any    `json:"content"`
	}
	contentPart struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
)

// checkMessages checks the messages and makes them what templates expect: content
// parts become one text, and the role developer becomes system, its older name.
func checkMessages(value any) *apiError {
	list, isList := value.(*chat.List)
	switch {
	case value == nil:
		return invalid("messages", `"messages" is missing; send at least one message`)
	case !isList:
		return invalid("messages", `"messages" must be an array of objects`)
	case len(list.Items()) == 0:
		return invalid("messages", `"messages" is empty; send at least one message`)
	}
	left := maxValues
	for i, one := range list.Items() {
		if err := oneMessage(one, fmt.Sprintf("messages[%d]", i), &left); err != nil {
			return err
		}
	}
	return nil
}

var roles = map[string]bool{"system": true, "user": true, "assistant": true, "tool": true, "developer": true, "function": true}

// member is the value of a key, nil if value is not an object or lacks the key.
func member(value any, key string) any {
	if object, ok := value.(*chat.Dict); ok {
		v, _ := object.Get(key)
		return v
	}
	return nil
}

// oneMessage checks one message and rewrites what templates do not know. It must
// have a role, and content or calls of tools; the template checks everything else.
func oneMessage(value any, where string, left *int) *apiError {
	role, isText := member(value, "role").(string)
	switch {
	case !isText:
		return invalid(where, "%s must be an object with a role and content", where)
	case !roles[role]:
		return invalid(where+".role", "%s.role is %q; it must be system, developer, user, assistant, tool or function", where, clip(role, 64))
	}
	message := value.(*chat.Dict)
	if role == "developer" {
		message.Set("role", "system")
	}
	if err := modernise(message, role, where, left); err != nil {
		return err
	}
	switch content := member(value, "content").(type) {
	case string:
	case nil:
		calls, _ := member(value, "tool_calls").(*chat.List)
		switch {
		case role != "assistant":
			return invalid(where+".content", "%s.content is missing", where)
		case calls == nil || len(calls.Items()) == 0:
			return invalid(where+".content", "%s.content is null or missing; send text, or an empty string", where)
		}
		message.Set("content", nil)
	case *chat.List:
		text, err := joinParts(content.Items(), where+".content")
		if err != nil {
			return err
		}
		message.Set("content", text)
	default:
		return invalid(where+".content", "%s.content must be a string or an array of text parts", where)
	}
	return nil
}

// joinParts joins text parts; pictures and sound are refused by name.
func joinParts(parts []any, where string) (string, *apiError) {
	var text strings.Builder
	for i, part := range parts {
		if _, isDict := part.(*chat.Dict); !isDict {
			return "", invalid(where, "%s must be a string or an array of text parts", where)
		}
		kind, _ := member(part, "type").(string)
		one, isText := member(part, "text").(string)
		if kind == "text" && !isText {
			return "", invalid(fmt.Sprintf("%s[%d].text", where, i), `%s[%d] has no text; a text part is {"type": "text", "text": "…"}`, where, own(i))
		}
		if kind != "text" {
			return "", invalid(where, `%s[%d] has the type %q; only text is supported: {"type": "text", "text": "…"}`, where, own(i), clip(kind, 64))
		}
		text.WriteString(one)
	}
	return text.String(), nil
}
