package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/cmd/troupe/node"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/model/chat"
	"github.com/troupe-engine/troupe/model/chat/output"
)

func newOutput() *cobra.Command {
	var file, bos, eos string
	var split int
	var describe bool
	c := &cobra.Command{
		Use: "output", Short: `Take a model's outputs apart: JSONL {"output",…} on stdin to JSONL {"content","reasoning_content","tool_calls"}`, Args: cli.NoArgs,
		Long: "Take outputs of a model apart into reasoning, content and tool calls, as its chat template marks them. Each line\n" +
			"of stdin is an object with output and, if there are any, tools, messages (the conversation before it), enable_thinking,\n" +
			"reasoning_format (none leaves thoughts in the content), continue_final_message (content or reasoning: the output goes on\n" +
			"with that part of the last message), partial (the output is cut) and further variables of the template.",
		Example: `  echo '{"output":"<think>Hm.</think>Yes."}' | troupe inspect output --template qwen3.jinja`,
		RunE: func(c *cobra.Command, _ []string) error {
			if split < 0 {
				return fmt.Errorf("--split is %d; it must be at least 1, or 0 for the whole output at once", split)
			}
			in := chat.Input{BOS: bos, EOS: eos, Now: time.Now(), AddGenerationPrompt: true}
			t, err := inspectedTemplate(c, file, &in)
			if err != nil {
				return err
			}
			o := outputReader{template: t, in: in, split: split}
			cfg, err := cli.Config(c)
			if err != nil {
				return err
			}
			o.format, err = node.Format(c.Context(), t, output.DetectOptions{BOS: in.BOS, EOS: in.EOS}, cfg.ToolParser, cfg.ReasoningParser)
			if err != nil {
				return cfg.Explain(err)
			}
			if describe {
				return cli.PrintJSONLine(c.OutOrStdout(), o.format)
			}
			return eachLine(c.InOrStdin(), c.OutOrStdout(), func(line []byte) (any, error) { return o.line(c.Context(), line) })
		},
	}
	configs.AddEngineFlags(c.Flags())
	c.Flags().StringVar(&file, "template", "", "file with the Jinja template; default: the model's")
	c.Flags().StringVar(&bos, "bos", "", "text of the BOS token; default: the model's")
	c.Flags().StringVar(&eos, "eos", "", "text of the EOS token; default: the model's")
	c.Flags().IntVar(&split, "split", 0, "feed the output this many bytes at a time. Example: 1. Default: all at once")
	c.Flags().BoolVar(&describe, "describe", false, "print the format instead of reading outputs")
	return c
}

// outputReader takes outputs of one template apart.
type outputReader struct {
	template *chat.Template
	in       chat.Input
	format   output.Format
	split    int
}

// outputLine is a line of stdin; its other fields are variables of the template.
type outputLine struct {
	Output          *string                          `json:"output"`
	Tools           []struct{ Function output.Tool } `json:"tools"`
	ReasoningFormat string                           `json:"reasoning_format"`
	Continue        string                           `json:"continue_final_message"`
	Partial         bool                             `json:"partial"`
}

// outputParts are a line of stdout.
type outputParts struct {
	Content   string       `json:"content"`
	Reasoning string       `json:"reasoning_content"`
	Calls     []outputCall `json:"tool_calls"`
}

type outputCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	ID        string `json:"id,omitempty"`
}

func (r *outputReader) line(ctx context.Context, line []byte) (any, error) {
	var l outputLine
	if err := json.Unmarshal(line, &l); err != nil {
		return nil, fmt.Errorf(`expected an object with "output": %w`, err)
	}
	if l.Output == nil {
		return nil, errors.New(`"output" is missing`)
	}
	in, before, err := r.input(line, l.Continue)
	if err != nil {
		return nil, err
	}
	o := output.Options{KeepReasoning: l.ReasoningFormat == "none"}
	for i, t := range l.Tools {
		if t.Function.Name == "" {
			return nil, fmt.Errorf(`tools[%d] has no name; a tool is {"type": "function", "function": {"name": "…"}}`, i)
		}
		o.Tools = append(o.Tools, t.Function)
	}
	switch l.Continue {
	case "":
		// A template that refuses the conversation opens nothing.
		if prompt, err := r.template.Render(ctx, in); err == nil {
			o.Opened = r.format.Opened(prompt)
		}
	case "content":
		o.Begin = output.InContent
	case "reasoning":
		o.Begin = output.InReasoning
	default:
		return nil, fmt.Errorf("continue_final_message is %q; use content or reasoning", l.Continue)
	}
	p := output.NewParser(&r.format, o)
	var c output.Collector
	for rest := *l.Output; rest != ""; {
		n := len(rest)
		if r.split > 0 {
			n = min(n, r.split)
		}
		c.Add(p.Push(rest[:n]))
		rest = rest[n:]
	}
	c.Add(p.Finish(l.Partial))
	m := c.Message()
	parts := outputParts{before.Content + m.Content, before.Reasoning + m.Reasoning, []outputCall{}}
	for _, call := range m.Calls {
		parts.Calls = append(parts.Calls, outputCall{call.Name, call.Arguments, call.ID})
	}
	return parts, nil
}

// input makes the variables of the template, and returns the parts of the message that the output
// continues.
func (r *outputReader) input(line []byte, continued string) (in chat.Input, before outputParts, err error) {
	in = r.in
	in.Extra = map[string]any{}
	in.Messages, _ = chat.DecodeJSON([]byte(`[{"role":"user","content":""}]`))
	value, err := chat.DecodeJSON(line)
	if err != nil {
		return in, before, err
	}
	fields, _ := value.(*chat.Dict)
	for key, v := range fields.All() {
		switch key {
		case "messages":
			in.Messages = r.format.History.Prepare(v)
			if list, ok := v.(*chat.List); ok && continued != "" && len(list.Items()) > 0 {
				before = r.before(list.Items()[len(list.Items())-1])
			}
		case "tools":
			if list, ok := v.(*chat.List); ok && len(list.Items()) > 0 {
				in.Tools = v
			}
		case "add_generation_prompt":
			in.AddGenerationPrompt, _ = v.(bool)
		default:
			if !chat.Reserved(key) {
				in.Extra[key] = v
			}
		}
	}
	return in, before, nil
}

// before are the parts of a message that goes on.
func (r *outputReader) before(message any) (parts outputParts) {
	m, ok := message.(*chat.Dict)
	if !ok {
		return parts
	}
	content, _ := m.Get("content")
	parts.Content, _ = content.(string)
	if r.format.Reasoning.Close != "" || r.format.Messages != nil {
		thoughts, _ := m.Get("reasoning_content")
		parts.Reasoning, _ = thoughts.(string)
	}
	return parts
}
