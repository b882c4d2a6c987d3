package inspect

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/model/exec"
)

func newLogits() *cobra.Command {
	var tokens []int32
	c := &cobra.Command{
		Use: "logits", Short: "Print the logits after each of the given tokens, with K and V in f32", Args: cli.NoArgs,
		Example: "  troupe inspect logits --model PATH --tokens 1,2,3",
		RunE: func(c *cobra.Command, _ []string) error {
			if len(tokens) == 0 {
				return errors.New("--tokens is missing; give token ids, for example --tokens 1,2,3")
			}
			_, _, m, device, err := openModel(c)
			if err != nil {
				return err
			}
			defer m.Close()
			defer device.Close()
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
	return c
}
