// Package inspect is `troupe inspect`: settings, memory, cache, tokens, templates, logits.
//
// # Parts
//
//	inspect, config, cache     the group of commands; settings and their sources; the prefix cache of a server
//	memory, live               the memory plan, with --url the memory of a running server, also recorded
//	tokens, template, logits   tokenise, apply a chat template, compute logits
//	jsonl                      streams of JSON lines
package inspect

import (
	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/cmd/troupe/node"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/model"
)

func New() *cobra.Command {
	return cli.Group("inspect", "Show what is inside: settings, memory, cache, tokens, templates, logits",
		newConfig(), newMemory(), newCache(), newTokens(), newTemplate(), newLogits())
}

// openFiles returns the settings, the files of their model, and its name.
func openFiles(c *cobra.Command) (cfg *configs.Config, files model.Files, name string, err error) {
	if cfg, err = cli.Config(c); err == nil {
		files, name, err = node.Files(c.Context(), cfg, cli.FetchingPlain())
	}
	return cfg, files, name, err
}

// openModel opens a model and the device. The caller closes the checkpoint.
func openModel(c *cobra.Command) (*configs.Config, string, *model.Checkpoint, gpu.Device, error) {
	cfg, files, name, err := openFiles(c)
	if err != nil {
		return nil, "", nil, nil, err
	}
	device, err := node.OpenDevice(cfg)
	if err != nil {
		return nil, "", nil, nil, err
	}
	m, err := files.Open(model.OpenOptions{LoadFormat: cfg.Open.LoadFormat, ContextLength: cfg.Open.ContextLength})
	if err != nil {
		return nil, "", nil, nil, cfg.Explain(node.AboutModel(err, cfg))
	}
	return cfg, name, m, device, nil
}
