// Package models is `troupe pull`, `troupe list`, `troupe show` and `troupe rm`: the models in
// the cache of Hugging Face's libraries.
//
// # Parts
//
//	models         the commands, and what they share
//	pull, stored   download a model; list, show and remove those that are there
package models

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/internal/hub"
)

// New returns the commands.
func New() []*cobra.Command {
	return []*cobra.Command{newPull(), newList(), newShow(), newRemove()}
}

// oneModel refuses a command line without exactly one model.
func oneModel(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s needs one model; give its name, for example troupe %s Qwen/Qwen2.5-0.5B-Instruct", c.Name(), c.Name())
	}
	return nil
}

// named reads a model's name, which may be an alias of the settings.
func named(c *cobra.Command, text string) (hub.Name, error) {
	cfg, err := cli.Config(c)
	if err != nil {
		return hub.Name{}, err
	}
	if target := cfg.Alias(text); target != "" {
		text = target
	}
	return hub.Parse(text)
}

// client returns a client of the hub.
func client(model string) (*hub.Hub, error) { return cli.FetchingPlain().Hub(model) }
