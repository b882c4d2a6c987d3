package httpapi_test

import (
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// Where a call ends thoughts, even without their mark, a budget of thoughts does not reach into
// the call: the mark would become a part of the arguments.
func TestBudgetEndsBeforeCalls(t *testing.T) {
	d := dialogues["kimi-k2"]
	called := "<think>Hm.<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>{\"city\": \"Oslo, which is the old town by the sea\", \"days\": 3}<|tool_call_end|><|tool_calls_section_end|>"
	s := testserver.Start(t, testserver.Options{Context: 2048, Pages: 2048, Template: d.template, Script: func(string) string { return called }})
	for budget := 5; budget < 200; budget += 9 {
		got := post(t, s, "/v1/chat/completions", object{"messages": list{question}, "tools": weatherTools, "max_tokens": 400, "thinking_budget": budget})
		message := at(t, got, "choices", 0, "message").(object)
		calls, _ := message["tool_calls"].([]any)
		for _, call := range calls {
			if arguments := call.(object)["function"].(object)["arguments"].(string); strings.Contains(arguments, "</think") {
				t.Errorf("with a budget of %d the arguments are %s", budget, arguments)
			}
		}
	}
}
