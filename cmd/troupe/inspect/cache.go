package inspect

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/cmd/troupe/remote"
	"github.com/troupe-engine/troupe/internal/units"
	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/telemetry/logtext"
)

func newCache() *cobra.Command {
	server := &remote.Server{}
	var asJSON bool
	c := &cobra.Command{
		Use: "cache", Short: "Draw the prefix cache of a running server: tokens, slots, locks, ages", Args: cli.NoArgs,
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
			text, err := cacheText(body)
			if err != nil {
				return fmt.Errorf("%s is not a Troupe server of this version: its /debug/cache cannot be read: %w", server.URL, err)
			}
			_, err = io.WriteString(logtext.NewTerminal(c.OutOrStdout()), text)
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

// cacheText draws the tree of one engine, or those of several.
func cacheText(body []byte) (string, error) {
	type tree struct {
		Engine int
		Cache  radix.View
	}
	var v struct {
		radix.View
		Engines []tree // nil if the server has one engine
	}
	if err := json.Unmarshal(body, &v); err != nil {
		return "", err
	}
	var b strings.Builder
	draw := func(v radix.View) {
		fmt.Fprintf(&b, "%s, %s of %s evictable, %d protected\n%s",
			units.Count(v.Nodes, "node"), units.Count(v.Evictable, "page"), units.Count(v.PageSize, "token"), v.Protected, v.Text(true))
	}
	if v.Engines == nil {
		draw(v.View)
		return b.String(), nil
	}
	if len(v.Engines) == 0 {
		return "all engines are restarting; try again\n", nil
	}
	for _, e := range v.Engines {
		fmt.Fprintf(&b, "engine %d: ", e.Engine)
		draw(e.Cache)
	}
	return b.String(), nil
}
