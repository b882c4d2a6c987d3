package node

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/model/chat"
	"github.com/troupe-engine/troupe/model/tokenizer"
)

// Message is one turn of a conversation.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Answer is the end of a local request.
type Answer struct {
	Text   string `json:"text"`
	Finish string `json:"finish_reason"`
	Usage  Usage  `json:"usage"`
}

// Usage counts the tokens of a local request.
type Usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Cached     int `json:"cached_tokens"`
}

// EncodeText tokenises a prompt; an empty one is BOS alone.
func (n *Node) EncodeText(text string) ([]int32, error) {
	ids := n.Tokenizer.Encode(text, tokenizer.EncodeOptions{AddSpecial: true, ParseSpecial: true})
	if len(ids) > 0 {
		return ids, nil
	}
	if bos := n.Checkpoint.Config.BOS; bos >= 0 {
		return []int32{bos}, nil
	}
	if bos, ok := n.Tokenizer.BOS(); ok {
		return []int32{bos}, nil
	}
	return nil, errors.New("the prompt is empty and this model has no BOS token; use --prompt TEXT")
}

// EncodeChat applies the chat template to a conversation.
func (n *Node) EncodeChat(ctx context.Context, conversation []Message) ([]int32, error) {
	if n.TemplateFault != nil {
		return nil, n.TemplateFault
	}
	if n.Template == nil {
		return nil, fmt.Errorf("the model %s has no chat template; use --chat-template FILE, or use troupe generate", n.Name)
	}
	m := httpapi.Model{Template: n.Template, Tokenizer: n.Tokenizer, Context: min(n.Checkpoint.Program.Context, n.Plan.Tokens)}
	return m.EncodeChat(ctx, chat.Input{Messages: conversation, AddGenerationPrompt: true, Now: time.Now()}, n.Config().HTTP.SpecialTokens)
}

// localCalls numbers local calls; bit 63 keeps them apart from the HTTP adapter's.
var localCalls atomic.Uint64

// Complete runs one request and writes its text as it arrives. continues: the output
// continues the text of the prompt.
func (n *Node) Complete(ctx context.Context, prompt []int32, s Sampling, continues bool, write func(string) error) (*Answer, error) {
	params, err := n.params(s)
	if err != nil {
		return nil, err
	}
	call := messages.CallID(1<<63 | localCalls.Add(1))
	events := make(chan messages.CallEvent, 16)
	n.Engine.Send(&messages.SubmitRequests{Call: call, UserID: fmt.Sprint("local-", call), Events: events,
		Requests: []messages.Submission{{Prompt: prompt, Params: params, Stream: true, Continues: continues, After: -1}}})
	answer := &Answer{}
	for {
		select {
		case <-ctx.Done():
			n.Engine.Send(&messages.DropCall{Call: call})
			return nil, ctx.Err()
		case err := <-n.Fatal:
			return nil, err
		case event := <-events:
			if r, ok := event.(*messages.CallRefused); ok {
				return nil, errors.New(r.Message)
			}
			out, ok := event.(*messages.CallOutput)
			if !ok {
				continue
			}
			answer.Text += out.Text
			if err := write(out.Text); err != nil {
				n.Engine.Send(&messages.DropCall{Call: call})
				return nil, err
			}
			if f := out.Finish; f != nil {
				if f.Reason == messages.FinishError || f.Reason == messages.FinishAbort {
					return nil, errors.New(f.Message)
				}
				u := out.Usage
				answer.Finish, answer.Usage = string(f.Reason), Usage{u.PromptTokens, u.CompletionTokens, u.CachedTokens}
				return answer, nil
			}
			if out.Paused {
				n.Engine.Send(&messages.ResumeOutput{Call: call})
			}
		}
	}
}
