package httpapi

import (
	"strings"

	"github.com/troupe-engine/troupe/messages"
)

// The messages of an answer, whole and in chunks.
type (
	chatMessage struct {
		Role      string        `json:"role"`
		Content   *string       `json:"content"` // null beside calls only
		Refusal   *string       `json:"refusal"`
		Reasoning string        `json:"reasoning_content,omitempty"`
		ToolCalls []*toolCall   `json:"tool_calls,omitempty"`
		Function  *functionCall `json:"function_call,omitempty"`
	}

	chatDelta struct {
		Role      string        `json:"role,omitempty"`
		Content   *string       `json:"content,omitempty"`
		Reasoning string        `json:"reasoning_content,omitempty"`
		ToolCalls []*toolCall   `json:"tool_calls,omitempty"`
		Function  *functionCall `json:"function_call,omitempty"`
	}

	// toolCall is a call, or in a chunk a piece of it.
	toolCall struct {
		Index    *int          `json:"index,omitempty"` // in chunks
		ID       string        `json:"id,omitempty"`
		Type     string        `json:"type,omitempty"`
		Function *functionCall `json:"function,omitempty"`
		Custom   *customCall   `json:"custom,omitempty"`
	}

	functionCall struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	}

	customCall struct {
		Name  string `json:"name,omitempty"`
		Input string `json:"input"`
	}
)

// newToolCall makes a call of its begin.
func newToolCall(c *callPart) *toolCall {
	call := &toolCall{ID: c.id}
	switch {
	case c.tool == nil:
		call.Function = &functionCall{Arguments: c.arguments}
	case c.tool.custom:
		call.Custom = &customCall{Input: c.arguments}
	default:
		call.Function = &functionCall{Arguments: c.arguments}
	}
	if c.id != "" && call.Custom != nil {
		call.Type, call.Custom.Name = "custom", c.tool.Name
	} else if c.id != "" {
		call.Type, call.Function.Name = "function", c.tool.Name
	}
	return call
}

// wholeParts converts complete outputs.
func wholeParts(parts *chatParts, total *usage, logprobs bool) func(*messages.CallOutput, func(chatChoice)) {
	return func(out *messages.CallOutput, send func(chatChoice)) {
		one := chatChoice{Index: out.Index, Message: chatMessage{Role: "assistant"}}
		message := &one.Message
		var reasoning, content strings.Builder
		parts.take(out, func(p part) {
			switch c := p.call; {
			case c == nil:
				reasoning.WriteString(p.reasoning)
				content.WriteString(p.content)
			case c.id != "":
				message.ToolCalls = append(message.ToolCalls, newToolCall(c))
			case c.tool != nil:
				message.ToolCalls[c.index].Custom.Input += c.arguments
			default:
				message.ToolCalls[c.index].Function.Arguments += c.arguments
			}
		})
		message.Reasoning = reasoning.String()
		if content.Len() > 0 || len(message.ToolCalls) == 0 {
			message.Content = new(content.String())
		}
		if parts.tools != nil && parts.tools.legacy && len(message.ToolCalls) > 0 {
			message.Function, message.ToolCalls = message.ToolCalls[0].Function, nil
		}
		one.FinishReason = parts.finish(out)
		total.think(parts.choice(out.Index).thoughts)
		if logprobs {
			one.Logprobs = newChatLogprobs(parts.model, out.Tokens)
		}
		send(one)
	}
}

// streamParts converts outputs of a stream: the role first, then the parts, and the reason
// to finish in a chunk with an empty delta.
func streamParts(parts *chatParts, total *usage, logprobs bool) func(*messages.CallOutput, func(chatChunk)) {
	started := make([]bool, len(parts.choices))
	return func(out *messages.CallOutput, send func(chatChunk)) {
		if !started[out.Index] {
			started[out.Index] = true
			// Content stays absent, because beside calls there may be none.
			send(chatChunk{Index: out.Index, Delta: chatDelta{Role: "assistant"}})
		}
		var scores *chatLogprobs
		if logprobs && len(out.Tokens) > 0 {
			scores = newChatLogprobs(parts.model, out.Tokens)
		}
		chunk := func(delta chatDelta) { // the first one has the log probabilities of all
			send(chatChunk{Index: out.Index, Delta: delta, Logprobs: scores})
			scores = nil
		}
		parts.take(out, func(p part) {
			switch {
			case p.reasoning != "":
				chunk(chatDelta{Reasoning: p.reasoning})
			case p.content != "":
				chunk(chatDelta{Content: &p.content})
			default:
				call := newToolCall(p.call)
				call.Index = &p.call.index
				if parts.tools.legacy {
					chunk(chatDelta{Function: call.Function})
				} else {
					chunk(chatDelta{ToolCalls: []*toolCall{call}})
				}
			}
		})
		if scores != nil {
			chunk(chatDelta{})
		}
		if out.Finish != nil {
			total.think(parts.choice(out.Index).thoughts)
			send(chatChunk{Index: out.Index, FinishReason: parts.finish(out)})
		}
	}
}
