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
)

func newTemplate() *cobra.Command {
	var file, bos, eos, now string
	c := &cobra.Command{
		Use: "template", Short: `Apply a chat template: JSONL {"messages",…} on stdin to JSONL {"prompt"} or {"error"}`, Args: cli.NoArgs,
		Long: "Apply a chat template to conversations. Each line of stdin is an object with messages, tools,\n" +
			"add_generation_prompt and any further variables; each line of stdout has a prompt or an error.",
		RunE: func(c *cobra.Command, _ []string) error {
			in := chat.Input{BOS: bos, EOS: eos, Now: time.Now()}
			if now != "" {
				var err error
				if in.Now, err = parseTime(now); err != nil {
					return err
				}
			}
			t, err := inspectedTemplate(c, file, &in)
			if err != nil {
				return err
			}
			return eachLine(c.InOrStdin(), c.OutOrStdout(), func(line []byte) (any, error) {
				return renderLine(c.Context(), t, in, line)
			})
		},
	}
	configs.AddEngineFlags(c.Flags())
	c.Flags().StringVar(&file, "template", "", "file with the Jinja template; default: the model's")
	c.Flags().StringVar(&bos, "bos", "", "text of the BOS token; default: the model's")
	c.Flags().StringVar(&eos, "eos", "", "text of the EOS token; default: the model's")
	c.Flags().StringVar(&now, "now", "", "time that the template's strftime_now returns. Example: 2024-07-26 12:00. Default: now")
	return c
}

func parseTime(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("--now %q is not a time; use for example 2024-07-26 12:00", text)
}

// inspectedTemplate reads the template from a file, or the model's with its BOS and EOS.
func inspectedTemplate(c *cobra.Command, file string, in *chat.Input) (*chat.Template, error) {
	if file != "" {
		return node.TemplateFile(file)
	}
	cfg, files, name, err := openFiles(c)
	if err != nil {
		return nil, err
	}
	tok, err := files.Tokenizer()
	if err != nil {
		return nil, cfg.Explain(configs.About(err, "model"))
	}
	if !c.Flags().Changed("bos") {
		in.BOS = tok.BOSText()
	}
	if !c.Flags().Changed("eos") {
		in.EOS = tok.EOSText()
	}
	t, err := node.Template(cfg, files, tok)
	if err == nil && t == nil {
		err = fmt.Errorf("the model %s has no chat template; use --template FILE", name)
	}
	return t, err
}

// renderLine renders one conversation. A refusal by the template is a result, no error.
func renderLine(ctx context.Context, t *chat.Template, in chat.Input, line []byte) (any, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(line, &fields); err != nil {
		return nil, fmt.Errorf(`expected an object with "messages": %w`, err)
	}
	in.Extra = map[string]any{}
	for key, raw := range fields {
		value, err := chat.DecodeJSON(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		switch key {
		case "messages":
			in.Messages = value
		case "tools":
			in.Tools = value
		case "add_generation_prompt":
			in.AddGenerationPrompt, _ = value.(bool)
		default:
			in.Extra[key] = value
		}
	}
	if in.Messages == nil {
		return nil, errors.New(`"messages" is missing`)
	}
	prompt, err := t.Render(ctx, in)
	if err != nil {
		return map[string]string{"error": err.Error()}, nil
	}
	return map[string]string{"prompt": prompt}, nil
}
