package models

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/internal/units"
)

// pulled is the result of the command.
type pulled struct {
	Model      string `json:"model"`
	Commit     string `json:"commit"`
	Path       string `json:"path"`
	Bytes      int64  `json:"bytes"`
	Downloaded int64  `json:"downloaded_bytes"`
}

func newPull() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "pull MODEL", Short: "Download a model from Hugging Face's hub", Args: oneModel,
		Long: "Downloads what a model needs into the cache that Hugging Face's own libraries use, and checks its\n" +
			"hashes. A download that was interrupted continues where it was. MODEL is ORG/REPO, with :QUANT for a\n" +
			"quantisation of GGUF files and @REVISION for a branch, tag or commit.\n\n" +
			"Environment variables: HF_TOKEN is the token for gated and private models, HF_HUB_CACHE the cache\n" +
			"directory, HF_ENDPOINT the address of a mirror.",
		Example: "  troupe pull Qwen/Qwen2.5-0.5B-Instruct\n  troupe pull Qwen/Qwen2.5-1.5B-Instruct-GGUF:Q8_0",
		RunE: func(c *cobra.Command, args []string) error {
			n, err := named(c, args[0])
			if err != nil {
				return err
			}
			h, err := client(n.String())
			if err != nil {
				return err
			}
			p, err := h.Pull(c.Context(), n)
			if errors.Is(err, context.Canceled) {
				fmt.Fprint(c.ErrOrStderr(), "\nThe model is not complete. Run the same command again to continue.\n")
			}
			if err != nil {
				return err
			}
			r := pulled{n.String(), p.Commit, p.Path, p.Bytes, p.Loaded}
			return cli.Print(c, asJSON, r, func(out io.Writer) error {
				state := "downloaded " + units.Bytes(r.Downloaded)
				if r.Downloaded == 0 {
					state = "already in the cache"
				}
				_, err := fmt.Fprintf(out, "%s: %s, %s\n%s\n", r.Model, units.Bytes(r.Bytes), state, r.Path)
				return err
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
