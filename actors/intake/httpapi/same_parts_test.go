package httpapi_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// joined is the answers of a stream by choice, and its usage, as whole answers have them.
func joined(t *testing.T, chunks []object) (choices map[int]object, usage any) {
	t.Helper()
	choices = map[int]object{}
	for _, c := range chunks {
		if c["usage"] != nil {
			usage = c["usage"]
		}
		for _, choice := range c["choices"].([]any) {
			of := choice.(object)
			index := int(of["index"].(float64))
			all := choices[index]
			if all == nil {
				all = object{"content": "", "reasoning": "", "finish": nil, "calls": "", "function": "", "tokens": ""}
				choices[index] = all
			}
			add := func(key string, value any) {
				if text, is := value.(string); is {
					all[key] = all[key].(string) + text
				}
			}
			delta := of["delta"].(object)
			add("content", delta["content"])
			add("reasoning", delta["reasoning_content"])
			pieces, _ := delta["tool_calls"].([]any)
			for _, p := range pieces {
				addCall(all, p.(object))
			}
			if f, is := delta["function_call"].(object); is {
				add("function", f["name"])
				add("function", f["arguments"])
			}
			addTokens(all, of["logprobs"])
			if of["finish_reason"] != nil {
				all["finish"] = of["finish_reason"]
			}
		}
	}
	return choices, usage
}

// addCall appends a call or a piece of one to a text.
func addCall(all object, piece object) {
	text := all["calls"].(string)
	if piece["id"] != nil {
		text += "\n" + fmt.Sprint(piece["type"]) + " "
	}
	for _, kind := range []string{"function", "custom"} {
		of, _ := piece[kind].(object)
		for _, key := range []string{"name", "arguments", "input"} {
			if part, is := of[key].(string); is {
				text += part
			}
		}
	}
	all["calls"] = text
}

func addTokens(all object, logprobs any) {
	if of, is := logprobs.(object); is {
		for _, one := range of["content"].([]any) {
			all["tokens"] = all["tokens"].(string) + fmt.Sprint(one.(object)["token"])
		}
	}
}

// A stream has the same parts as a whole answer, whatever is asked for and wherever a stop string
// or max_tokens cuts it.
func TestStreamedPartsAreTheSame(t *testing.T) {
	custom := object{"type": "custom", "custom": object{"name": "run", "format": object{"type": "grammar", "grammar": object{"syntax": "regex", "definition": "[a-c\"]{1,4}"}}}}
	for format, d := range dialogues {
		t.Run(format, func(t *testing.T) {
			random := rand.New(rand.NewPCG(7, 8))
			said := []string{d.called, d.said, ""}
			s := testserver.Start(t, testserver.Options{Context: 2048, Pages: 4096, Template: d.template, EOSChance: .1, Script: func(prompt string) string { return said[len(prompt)%3] }})
			pick := func(of ...any) any { return of[random.IntN(len(of))] }
			for range 60 {
				question := object{"role": "user", "content": fmt.Sprintf("%*s?", 1+random.IntN(3), "What")}
				body := object{"messages": list{question}, "seed": random.IntN(1000), "n": 1 + random.IntN(2), "max_tokens": pick(3, 20, 60, 150), "temperature": 1}
				set := func(name string, of ...any) {
					if value := pick(of...); value != nil {
						body[name] = value
					}
				}
				set("tools", nil, list{colour, shape, custom}, list{weatherTools[0], weatherTools[1], shape}, list{weatherTools[0], custom})
				if body["tools"] != nil {
					set("tool_choice", nil, nil, "auto", "required", "none")
					set("parallel_tool_calls", nil, false)
				} else if random.IntN(4) == 0 {
					body["functions"] = list{weatherTools[0].(object)["function"], colour["function"]}
				}
				set("stop", nil, nil, list{">x", "\"}"}, list{"|>a", "the"}, list{"</think>\n\nI"}, "Oslo", list{"call>y"})
				set("thinking_budget", nil, nil, 0, 4)
				set("skip_special_tokens", nil, nil, false)
				set("separate_reasoning", nil, nil, false)
				set("include_reasoning", nil, nil, false)
				set("response_format", nil, nil, nil, object{"type": "json_object"})
				set("no_stop_trim", nil, nil, true)
				set("logprobs", nil, true)
				text, _ := json.Marshal(body)
				got := post(t, s, "/v1/chat/completions", body)
				streamed, usage := joined(t, chunks(t, s, "/v1/chat/completions", merge(body, object{"stream": true, "stream_options": object{"include_usage": true}})))
				for i, choice := range got["choices"].([]any) {
					of := choice.(object)
					message := of["message"].(object)
					content, _ := message["content"].(string)
					reasoning, _ := message["reasoning_content"].(string)
					all := object{"content": content, "reasoning": reasoning, "finish": of["finish_reason"], "calls": "", "function": "", "tokens": ""}
					calls, _ := message["tool_calls"].([]any)
					for _, call := range calls {
						addCall(all, call.(object))
					}
					if f, is := message["function_call"].(object); is {
						all["function"] = f["name"].(string) + f["arguments"].(string)
					}
					addTokens(all, of["logprobs"])
					want, _ := json.Marshal(all)
					if other, _ := json.Marshal(streamed[i]); string(other) != string(want) {
						t.Errorf("%s\nwhole    %s\nstreamed %s", text, want, other)
					}
				}
				one, _ := json.Marshal(at(t, got, "usage", "completion_tokens_details"))
				of, _ := usage.(object)
				if two, _ := json.Marshal(of["completion_tokens_details"]); string(one) != string(two) {
					t.Errorf("%s\nwhole    %s\nstreamed %s", text, one, two)
				}
			}
		})
	}
}
