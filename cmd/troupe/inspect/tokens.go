package inspect

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/model/tokenizer"
)

func newTokens() *cobra.Command {
	c := &cobra.Command{
		Use: "tokens", Short: `Tokenise JSONL {"text"} from stdin: ids, ids_special (with the special tokens that the tokenizer adds), decode (text of ids)`, Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, files, _, err := openFiles(c)
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
