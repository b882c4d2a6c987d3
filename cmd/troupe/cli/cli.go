// Package cli has what commands share: the root command, settings, logs, an engine, printing.
package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/troupe-engine/troupe/configs"
)

// ErrSilent ends the process with status 1 after the command has printed why.
var ErrSilent = errors.New("failed")

// Root returns the root command. Commands find the version in Root().Version.
func Root(version string, commands ...*cobra.Command) *cobra.Command {
	root := &cobra.Command{
		Use:   "troupe",
		Short: "A serving engine for language models: one binary, an OpenAI-compatible API",
		Long: "Troupe serves language models over an OpenAI-compatible API.\n\n" +
			"  troupe serve                     serve the embedded model on 127.0.0.1:30000\n" +
			"  troupe serve MODEL               serve a model from Hugging Face's hub, a directory or a GGUF file\n" +
			"  troupe chat                      chat with a model in the terminal",
		SilenceUsage: true, SilenceErrors: true, DisableFlagsInUseLine: true,
		Version: version, Args: knownCommand, RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetVersionTemplate("troupe {{.Version}}\n")
	root.PersistentFlags().String("config", "", "file with settings: YAML, TOML or JSON (or set TROUPE_CONFIG)")
	root.SetFlagErrorFunc(suggestFlag)
	root.AddCommand(commands...)
	root.SetUsageFunc(usage)
	root.SetHelpFunc(help)
	return root
}

// Group returns a command that has others below it and only prints its help.
func Group(name, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: name, Short: short, Args: knownCommand, RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(commands...)
	return c
}

// Config reads the settings of a command: file, environment, flags.
func Config(c *cobra.Command) (*configs.Config, error) { return ConfigFrom(c, c.Flags()) }

// ConfigFrom is Config for a command with only some settings as flags.
func ConfigFrom(c *cobra.Command, settings *pflag.FlagSet) (*configs.Config, error) {
	file, err := c.Flags().GetString("config")
	if err != nil {
		return nil, err
	}
	source := "flag --config"
	if file == "" {
		file, source = os.Getenv("TROUPE_CONFIG"), "environment TROUPE_CONFIG"
	}
	cfg, err := configs.Load(file, settings)
	if failed, ok := errors.AsType[*fs.PathError](err); ok && failed.Path == file { // not that of another setting
		err = fmt.Errorf("%w (%s)", err, source)
	}
	return cfg, err
}
