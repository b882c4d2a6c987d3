package output

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// write writes a call as a format describes it: an obvious inverse of the parser.
func write(f *Format, calls []map[string]any) string {
	if f.Messages != nil {
		ms := f.Messages
		var b strings.Builder
		for i, c := range calls {
			if i > 0 {
				b.WriteString(ms.Ends[1] + ms.Start + ms.Role)
			}
			b.WriteString(ms.Channel + "commentary" + ms.Recipient + ms.Tools + c["name"].(string) + ms.Body + toText(c["arguments"]))
		}
		return b.String()
	}
	c := f.Calls
	var texts []string
	for _, call := range calls {
		name, arguments := call["name"].(string), call["arguments"].(map[string]any)
		text := c.Call.Open
		switch {
		case c.Call.Object == nil:
			text += headerOf(c.Call.Headers[0], name) + argumentsOf(&c.Call, arguments)
		case c.Call.Object.NameIsKey:
			text += toText(map[string]any{name: arguments})
		default:
			text += fmt.Sprintf(`{%q: %q, %q: %s}`, c.Call.Object.Name[0], name, c.Call.Object.Arguments[0], toText(arguments))
		}
		texts = append(texts, text+c.Call.Close)
	}
	if c.List {
		return c.Begin + "[" + strings.Join(texts, ", ") + "]" + c.End
	}
	return c.Begin + strings.Join(texts, c.Separator+"\n") + c.End
}

func headerOf(pattern, name string) string {
	var b strings.Builder
	for _, p := range Pieces(pattern) {
		b.WriteString(p.Literal + map[string]string{"name": name, "index": "0", "word": "abcdefghi", "key": name, "string": "false"}[p.Field])
	}
	return b.String()
}

func argumentsOf(call *Call, arguments map[string]any) string {
	var list []string
	for _, key := range slices.Sorted(maps.Keys(arguments)) {
		v := arguments[key]
		switch s, isText := v.(string); {
		case call.Arguments == JSON:
			return toText(arguments)
		case call.Arguments == XML:
			header := headerOf(call.Params.Headers[0], key)
			if isText {
				header = strings.Replace(header, `string="false"`, `string="true"`, 1)
			} else {
				s = toText(v)
			}
			if call.Params.Framed {
				s = "\n" + s + "\n"
			}
			list = append(list, call.Params.Open+header+s+call.Params.Close)
		case call.Arguments == Python:
			list = append(list, key+"="+python(v))
		default:
			list = append(list, key+":"+bare(v))
		}
	}
	switch call.Arguments {
	case JSON:
		return "{}"
	case XML:
		return "\n" + strings.Join(list, "\n") + call.Params.End
	case Python:
		return strings.Join(list, ", ") + ")"
	}
	return "{" + strings.Join(list, ",") + "}"
}

func toText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func python(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return map[bool]string{true: "True", false: "False"}[v]
	case string:
		return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`).Replace(v) + "'"
	case []any:
		return "[" + strings.Join(mapped(v, python), ", ") + "]"
	case map[string]any:
		var list []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			list = append(list, python(k)+": "+python(v[k]))
		}
		return "{" + strings.Join(list, ", ") + "}"
	}
	return toText(v)
}

func bare(v any) string {
	switch v := v.(type) {
	case string:
		return Quote + v + Quote
	case []any:
		return "[" + strings.Join(mapped(v, bare), ",") + "]"
	case map[string]any:
		var list []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			list = append(list, bare(k)+":"+bare(v[k]))
		}
		return "{" + strings.Join(list, ",") + "}"
	}
	return toText(v)
}

func mapped(list []any, f func(any) string) []string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = f(v)
	}
	return texts
}

var drawString = rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune("<>|\"'\\{}[](),:=\n \t\x00aé世😀"))))

func drawValue(t *rapid.T, depth int) any {
	switch k := rapid.IntRange(0, 4+2*min(depth, 1)).Draw(t, "kind"); k {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return rapid.Float64().Draw(t, "number")
	case 3, 4:
		return drawString.Draw(t, "text")
	case 5:
		list := make([]any, rapid.IntRange(0, 3).Draw(t, "items"))
		for i := range list {
			list[i] = drawValue(t, depth-1)
		}
		return list
	}
	m := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "members") {
		m[drawString.Draw(t, "key")] = drawValue(t, depth-1)
	}
	return m
}

// drawArguments draws arguments of weather that fit its schema.
func drawArguments(t *rapid.T) map[string]any {
	m := map[string]any{}
	draws := map[string]func() any{
		"city":  func() any { return drawString.Draw(t, "city") },
		"days":  func() any { return float64(rapid.Int32().Draw(t, "days")) },
		"exact": func() any { return rapid.Bool().Draw(t, "exact") },
		"tags":  func() any { return []any{drawValue(t, 2)} },
		"more":  func() any { return map[string]any{"k": drawValue(t, 2)} },
	}
	for _, key := range slices.Sorted(maps.Keys(draws)) {
		if rapid.Bool().Draw(t, "with "+key) {
			m[key] = draws[key]()
		}
	}
	return m
}

// Calls with any arguments, written as the format describes it, are read back.
func TestWrittenCallsAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom(catalogue).Draw(t, "format")
		calls := []map[string]any{{"name": "weather", "arguments": drawArguments(t)}, {"name": "stop", "arguments": map[string]any{}}}
		calls = calls[:rapid.IntRange(1, 2).Draw(t, "calls")]
		text := write(&f, calls)
		if f.Calls != nil && slices.ContainsFunc([]string{"<tool_call>", "</", Quote}, func(mark string) bool { return strings.Contains(toText(calls), mark) }) {
			t.Skip("a value has a mark of the format")
		}
		m := Read(&f, Options{Tools: ownTools}, text, false)
		if len(m.Calls) != len(calls) || strings.TrimSpace(m.Content) != "" {
			t.Fatalf("%s, %q: %s", f.Name, text, show(m))
		}
		for i, c := range calls {
			if m.Calls[i].Name != c["name"] || !sameJSON(m.Calls[i].Arguments, toText(c["arguments"])) {
				t.Fatalf("%s, %q:\n got %s\nwant %s", f.Name, text, m.Calls[i].Arguments, toText(c["arguments"]))
			}
		}
	})
}
