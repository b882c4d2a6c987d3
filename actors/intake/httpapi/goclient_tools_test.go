package httpapi_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/respjson"
	"github.com/openai/openai-go/v3/shared"

	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// asks is a question to the assistant, with the tool weather.
func asks(question string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{Model: testserver.ModelID, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(question)},
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "weather", Description: openai.String("The weather."),
			Parameters: shared.FunctionParameters{"type": "object", "properties": object{"city": object{"type": "string"}}, "required": list{"city"}}})}}
}

const twoCities = "What is the weather in Oslo and Rome?"

// extra is a text that OpenAI's API does not have.
func extra(t *testing.T, fields map[string]respjson.Field, name string) (text string) {
	t.Helper()
	if raw := fields[name].Raw(); raw != "" {
		if err := json.Unmarshal([]byte(raw), &text); err != nil {
			t.Errorf("%s is %s", name, raw)
		}
	}
	return text
}

// isCities checks the message with calls about two cities, and answers it.
func isCities(t *testing.T, p *openai.ChatCompletionNewParams, message openai.ChatCompletionMessage, finish string) {
	t.Helper()
	if message.Content != "I look." || finish != "tool_calls" || len(message.ToolCalls) != 2 {
		t.Fatalf("%+v ended with %s", message, finish)
	}
	p.Messages = append(p.Messages, message.ToParam())
	for i, city := range []string{"Oslo", "Rome"} {
		call, is := message.ToolCalls[i].AsAny().(openai.ChatCompletionMessageFunctionToolCall)
		if message.JSON.ToolCalls.Valid() && !is || message.ToolCalls[i].Type != "function" {
			t.Errorf("the call %+v is %T", message.ToolCalls[i], call)
		}
		if f := message.ToolCalls[i].Function; f.Name != "weather" || f.Arguments != fmt.Sprintf(`{"city": %q}`, city) {
			t.Errorf("call %d is %+v", i, f)
		}
		p.Messages = append(p.Messages, openai.ToolMessage(map[string]string{"Oslo": "rain", "Rome": "sun"}[city], message.ToolCalls[i].ID))
	}
}

func TestGoClientTools(t *testing.T) {
	client := goClient(startAssistant(t))
	p := asks(twoCities)
	calls, err := client.Chat.Completions.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	isCities(t, &p, calls.Choices[0].Message, calls.Choices[0].FinishReason)
	if thoughts := extra(t, calls.Choices[0].Message.JSON.ExtraFields, "reasoning_content"); thoughts != "It wants the weather." {
		t.Errorf("thoughts %q", thoughts)
	}
	if tokens := calls.Usage.CompletionTokensDetails.ReasoningTokens; tokens <= 0 || tokens >= calls.Usage.CompletionTokens {
		t.Errorf("%d of %d tokens are thoughts", tokens, calls.Usage.CompletionTokens)
	}
	answer, err := client.Chat.Completions.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if c := answer.Choices[0]; c.Message.Content != "I hear: rain, sun" || c.FinishReason != "stop" || len(c.Message.ToolCalls) != 0 {
		t.Errorf("%+v", c)
	}
}

func TestGoClientStreamsTools(t *testing.T) {
	client := goClient(startAssistant(t))
	p := asks(twoCities)
	var thoughts strings.Builder
	follow := func() (all openai.ChatCompletionAccumulator, finished []string) {
		t.Helper()
		thoughts.Reset()
		stream := client.Chat.Completions.NewStreaming(t.Context(), p)
		for stream.Next() {
			chunk := stream.Current()
			if !all.AddChunk(chunk) {
				t.Errorf("the accumulator refuses %s", chunk.RawJSON())
			}
			if call, ok := all.JustFinishedToolCall(); ok {
				finished = append(finished, fmt.Sprint(call.Index, call.Name, call.Arguments))
			}
			if len(chunk.Choices) > 0 {
				thoughts.WriteString(extra(t, chunk.Choices[0].Delta.JSON.ExtraFields, "reasoning_content"))
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		return all, finished
	}
	p.StreamOptions.IncludeUsage = openai.Bool(true)
	all, finished := follow()
	isCities(t, &p, all.Choices[0].Message, all.Choices[0].FinishReason)
	if want := []string{`0weather{"city": "Oslo"}`, `1weather{"city": "Rome"}`}; !slices.Equal(finished, want) {
		t.Errorf("the accumulator finished %q, want %q", finished, want)
	}
	if thoughts.String() != "It wants the weather." || all.Usage.CompletionTokensDetails.ReasoningTokens == 0 {
		t.Errorf("thoughts %q, usage %+v", thoughts.String(), all.Usage)
	}
	all, _ = follow()
	if c := all.Choices[0]; c.Message.Content != "I hear: rain, sun" || c.FinishReason != "stop" {
		t.Errorf("%+v", c)
	}
}

func TestGoClientForcesTools(t *testing.T) {
	client := goClient(startAssistant(t))
	p := asks("Good day.")
	p.Tools = append(p.Tools, openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "unit", Strict: openai.Bool(true), Parameters: shared.FunctionParameters{
		"type": "object", "properties": object{"unit": object{"enum": list{"celsius", "fahrenheit"}}}, "required": list{"unit"}, "additionalProperties": false}}))
	p.ToolChoice = openai.ToolChoiceOptionFunctionToolChoice(openai.ChatCompletionNamedToolChoiceFunctionParam{Name: "unit"})
	named, err := client.Chat.Completions.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	message := named.Choices[0].Message
	var arguments struct{ Unit string }
	if message.JSON.Content.Valid() || len(message.ToolCalls) != 1 || message.ToolCalls[0].Function.Name != "unit" ||
		json.Unmarshal([]byte(message.ToolCalls[0].Function.Arguments), &arguments) != nil || arguments.Unit == "" {
		t.Errorf("%s", message.RawJSON())
	}
	p = asks("The weather in Oslo and Rome, just call.")
	p.ToolChoice = openai.ChatCompletionToolChoiceOptionUnionParam{OfAuto: openai.String("required")}
	p.ParallelToolCalls = openai.Bool(false)
	required, err := client.Chat.Completions.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if calls := required.Choices[0].Message.ToolCalls; len(calls) != 1 || calls[0].Function.Arguments != `{"city": "Oslo"}` {
		t.Errorf("%+v", calls)
	}
}

// A schema holds for the answer; the thoughts before it are free.
func TestGoClientSchemaAfterThoughts(t *testing.T) {
	client := goClient(startAssistant(t))
	p := asks("Anna is 30 years old.")
	p.Tools = nil
	p.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "person", Strict: openai.Bool(true),
		Schema: json.RawMessage(`{"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name", "age"], "additionalProperties": false}`)}}
	answer, err := client.Chat.Completions.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	message := answer.Choices[0].Message
	if message.Content != `{"name": "Anna", "age": 30}` || extra(t, message.JSON.ExtraFields, "reasoning_content") != "A person." {
		t.Errorf("%s", message.RawJSON())
	}
}
