package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/memory/radix"
	"github.com/troupe-engine/troupe/telemetry/logtext"
)

func newInspectCache() *cobra.Command {
	server := &remote{}
	var asJSON bool
	limits := map[string]*int{"depth": new(int), "nodes": new(int), "tokens": new(int)}
	c := &cobra.Command{
		Use: "cache", Short: "Draw the prefix cache of a running server: tokens, slots, locks, ages", Args: cobra.NoArgs,
		Long: "Draws the radix tree of a running server, one line a node: token ids and slots, as many as --tokens,\n" +
			"ref (locks), age (insertions and unlocks since the last use), hits (requests that used it).\n" +
			"[R] is a root, [L] a leaf. Other namespaces are named by their hash. It costs the server a pass over its tree,\n" +
			"of which only a part is looked at and shown if it is big.",
		Example: "  troupe inspect cache --url http://127.0.0.1:30000 --depth 3 --tokens 16",
		RunE: func(c *cobra.Command, _ []string) error {
			query := url.Values{}
			for name, n := range limits {
				if c.Flags().Changed(name) {
					query.Set(name, strconv.Itoa(*n))
				}
			}
			body, err := server.get(c.Context(), "/debug/cache", query)
			if err != nil {
				return err
			}
			if asJSON {
				_, err = c.OutOrStdout().Write(body)
				return err
			}
			var v radix.View
			if err := json.Unmarshal(body, &v); err != nil {
				return fmt.Errorf("%s is no Troupe server of this version: its /debug/cache is no tree: %w", server.url, err)
			}
			_, err = fmt.Fprintf(logtext.NewTerminal(c.OutOrStdout()), "%d nodes, %d pages of %d tokens evictable, %d protected\n%s", v.Nodes, v.Evictable, v.PageSize, v.Protected, v.Text(true))
			return err
		},
	}
	server.addFlags(c.Flags(), defaultURL)
	c.Flags().IntVar(limits["depth"], "depth", 10, "levels below a root that are shown, up to 1000")
	c.Flags().IntVar(limits["nodes"], "nodes", 200, "nodes that are shown in all, up to 10000")
	c.Flags().IntVar(limits["tokens"], "tokens", 8, "tokens and slots of a node that are shown, up to 256")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
