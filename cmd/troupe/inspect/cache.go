package inspect

import (
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cmd/troupe/remote"
	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/telemetry/logtext"
)

func newCache() *cobra.Command {
	server := &remote.Server{}
	var asJSON bool
	c := &cobra.Command{
		Use: "cache", Short: "Draw the prefix cache of a running server: tokens, slots, locks, ages", Args: cobra.NoArgs,
		Long: "Draws the radix tree of a running server with one line per node: the first token ids and slots, ref (locks),\n" +
			"age (insertions and unlocks since the last use) and hits (requests that used it). [R] is a root, [L] a leaf.\n" +
			"Prefixes are shared only within a namespace (API key, cache_salt, extra_key); each has its own root and is named by\n" +
			"its hash. The server visits every node for this; of a very large tree only a part is shown.",
		Example: "  troupe inspect cache --url http://127.0.0.1:30000 --depth 3 --tokens 16",
		RunE: func(c *cobra.Command, _ []string) error {
			query := url.Values{}
			for _, limit := range []string{"depth", "nodes", "tokens"} {
				if f := c.Flags().Lookup(limit); f.Changed {
					query.Set(limit, f.Value.String())
				}
			}
			body, err := server.Get(c.Context(), "/debug/cache", query)
			if err != nil {
				return err
			}
			if asJSON {
				_, err = c.OutOrStdout().Write(body)
				return err
			}
			var v radix.View
			if err := json.Unmarshal(body, &v); err != nil {
				return fmt.Errorf("%s is not a Troupe server of this version: its /debug/cache cannot be read: %w", server.URL, err)
			}
			_, err = fmt.Fprintf(logtext.NewTerminal(c.OutOrStdout()), "%d nodes, %d pages of %d tokens evictable, %d protected\n%s", v.Nodes, v.Evictable, v.PageSize, v.Protected, v.Text(true))
			return err
		},
	}
	server.AddFlags(c.Flags(), remote.DefaultURL)
	c.Flags().Int("depth", 10, "levels to show below a root, at most 1000")
	c.Flags().Int("nodes", 200, "nodes to show in total, at most 10000")
	c.Flags().Int("tokens", 8, "tokens and slots to show per node, at most 256")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
