// Package inspect is `troupe inspect`: settings, devices, memory, cache, tokens, templates, outputs, grammars, logits.
//
// # Parts
//
//	inspect, config, cache     the group of commands; settings and their sources; the prefix cache of a server
//	devices                    what this machine has to compute with
//	memory, live               the memory plan, with --url the memory of a running server, also recorded
//	tokens, template, output   tokenise, apply a chat template, take an output apart
//	grammar, grammarinput      try grammars; texts under a grammar
//	logits                     compute logits
//	jsonl                      streams of JSON lines
package inspect

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/cmd/troupe/node"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/model"
)

func New() *cobra.Command {
	return cli.Group("inspect", "Show what is inside: settings, devices, memory, cache, tokens, templates, outputs, grammars, logits",
		newConfig(), newDevices(), newMemory(), newCache(), newTokens(), newTemplate(), newOutput(), newGrammar(), newLogits())
}

// openFiles returns the settings, the files of their model, and its name.
func openFiles(c *cobra.Command) (cfg *configs.Config, files model.Files, name string, err error) {
	if cfg, err = cli.Config(c); err == nil {
		files, name, err = node.Files(c.Context(), cfg, cli.FetchingPlain())
	}
	return cfg, files, name, err
}

// openModel opens a model and the device. The caller closes the checkpoint and the device.
func openModel(c *cobra.Command) (*configs.Config, string, *model.Checkpoint, node.Opened, error) {
	cfg, files, name, err := openFiles(c)
	if err != nil {
		return nil, "", nil, node.Opened{}, err
	}
	device, err := node.OpenDevice(c.Context(), cfg)
	if err != nil {
		return nil, "", nil, node.Opened{}, err
	}
	cfg = device.Config
	m, err := files.Open(model.OpenOptions{LoadFormat: cfg.Open.LoadFormat, ContextLength: cfg.Open.ContextLength})
	if err != nil {
		return nil, "", nil, node.Opened{}, errors.Join(cfg.Explain(node.AboutModel(err, cfg)), device.Close())
	}
	return cfg, name, m, device, nil
}
