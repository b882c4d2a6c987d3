package inspect

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/cmd/troupe/node"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/model/exec"
	"github.com/troupe-engine/troupe/model/tokenizer"
)

func newTokens() *cobra.Command {
	c := &cobra.Command{
		Use: "tokens", Short: `Tokenise: JSONL {"text"} on stdin to JSONL {"ids","ids_special","decode"}`, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := cli.Config(c)
			if err != nil {
				return err
			}
			files, _, err := node.Files(cfg)
			if err != nil {
				return err
			}
			tok, err := files.Tokenizer()
			if err != nil {
				return cfg.Explain(configs.About(err, "model"))
			}
			return eachLine(c.InOrStdin(), c.OutOrStdout(), func(line []byte) (any, error) {
				var in struct {
					Text *string `json:"text"`
				}
				if err := json.Unmarshal(line, &in); err != nil || in.Text == nil {
					return nil, fmt.Errorf(`expected {"text": "…"}, got %.80s`, line)
				}
				ids := tok.Encode(*in.Text, tokenizer.EncodeOptions{ParseSpecial: true})
				special := tok.Encode(*in.Text, tokenizer.EncodeOptions{ParseSpecial: true, AddSpecial: true})
				return struct {
					IDs     []int32 `json:"ids"`
					Special []int32 `json:"ids_special"`
					Decode  string  `json:"decode"`
				}{append([]int32{}, ids...), append([]int32{}, special...), tok.Decode(ids, tokenizer.DecodeOptions{})}, nil
			})
		},
	}
	configs.AddEngineFlags(c.Flags())
	return c
}

func newLogits() *cobra.Command {
	var tokens []int32
	c := &cobra.Command{
		Use: "logits", Short: "Print the logits after each of the given tokens, with K and V in f32", Args: cobra.NoArgs,
		Example: "  troupe inspect logits --model PATH --tokens 1,2,3",
		RunE: func(c *cobra.Command, _ []string) error {
			_, _, m, device, err := openModel(c)
			if err != nil {
				return err
			}
			defer m.Close()
			loaded, err := device.Load(m.Program, m.Weights, cli.LoadProgress())
			if err != nil {
				return err
			}
			defer loaded.Close()
			logits, err := exec.Logits(loaded, m.Program, tokens)
			if err != nil {
				return err
			}
			return cli.PrintJSONLine(c.OutOrStdout(), map[string]any{"logits": logits})
		},
	}
	configs.AddEngineFlags(c.Flags())
	c.Flags().Int32SliceVar(&tokens, "tokens", nil, "token ids, separated by commas")
	_ = c.MarkFlagRequired("tokens") // fails for unknown flags only
	return c
}

// maxLine is the longest line of a JSONL stream, in bytes.
const maxLine = 64 << 20

// eachLine answers a JSONL stream line by line until the first error. The answers before
// it are written.
func eachLine(in io.Reader, out io.Writer, f func(line []byte) (any, error)) error {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, maxLine)
	w := bufio.NewWriter(out)
	n := 1
	for ; scanner.Scan(); n++ {
		line := bytes.TrimSpace(scanner.Bytes())
		if len(line) == 0 {
			continue
		}
		v, err := f(line)
		if err != nil {
			return errors.Join(fmt.Errorf("line %d: %w", n, err), w.Flush())
		}
		if err := cli.PrintJSONLine(w, v); err != nil {
			return err
		}
	}
	err := scanner.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = fmt.Errorf("line %d is longer than %d MiB", n, maxLine>>20)
	}
	return errors.Join(err, w.Flush())
}
