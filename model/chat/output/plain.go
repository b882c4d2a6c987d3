package output

// Plain returns a format for a template that knows no tools: calls are a JSON list of
// {"name": …, "arguments": {…}}. Thoughts are those of f.
func Plain(f Format) Format {
	plain := Format{Name: "plain", Reasoning: f.Reasoning, Calls: objects("", "", nameArguments), History: f.History}
	plain.Calls.AtStart = true
	return plain
}
