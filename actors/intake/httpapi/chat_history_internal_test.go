package httpapi

import (
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/model/chat"
)

// Earlier calls as text are not much longer than the messages, and many results in a row do not
// take a time that grows with their square.
func TestPlainHistoryIsBounded(t *testing.T) {
	var body strings.Builder
	body.WriteString(`[{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"` + strings.Repeat("a", 1<<20) + `","arguments":"{}"}}]}`)
	for range 40_000 {
		body.WriteString(`,{"role":"tool","tool_call_id":"1","content":"` + strings.Repeat("b", 100) + `"}`)
	}
	body.WriteString("]")
	messages, err := chat.DecodeJSON([]byte(body.String()))
	if err != nil {
		t.Fatal(err)
	}
	type result struct {
		list *chat.List
		err  error
	}
	done := make(chan result, 1)
	go func() {
		list, err := testModel(t).plainHistory(messages.(*chat.List))
		done <- result{list, err}
	}()
	select {
	case got := <-done:
		size := 0
		for _, message := range got.list.Items() {
			size += len(member(message, "content").(string))
		}
		if got.err != nil || len(got.list.Items()) != 2 || size > body.Len() {
			t.Errorf("%d messages of %d bytes, from %d: %v", len(got.list.Items()), size, body.Len(), got.err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it takes too long")
	}
}

func TestValuesInArguments(t *testing.T) {
	for text, want := range map[string]int{`{}`: 2, `{"a": [1, 2], "b,c": "\",[[["}`: 7, ``: 1, `"`: 1, `[[],[]]`: 5} {
		if got := valuesIn(text); got != want {
			t.Errorf("%s: %d values, want %d", text, got, want)
		}
	}
	arguments := `"` + strings.Repeat("[", maxValues+1) + `"`
	messages, err := chat.DecodeJSON([]byte(`[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":` + arguments + `}}]}]`))
	if err != nil {
		t.Fatal(err)
	}
	if err := checkMessages(messages); err == nil || err.Param != "messages[0].tool_calls[0].function.arguments" {
		t.Errorf("arguments with too many values: %v", err)
	}
}
