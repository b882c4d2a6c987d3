// Package cli has what the commands share: the root command, settings, logs, an engine
// for one command, and the printing of results.
package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

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
			"  troupe serve --model PATH        serve a Hugging Face model directory or a GGUF file\n" +
			"  troupe chat                      chat with a model in the terminal",
		SilenceUsage: true, SilenceErrors: true,
		Version: version,
	}
	root.SetVersionTemplate("troupe {{.Version}}\n")
	root.PersistentFlags().String("config", "", "file with settings: YAML, TOML or JSON (or set TROUPE_CONFIG)")
	root.SetFlagErrorFunc(suggestFlag)
	root.AddCommand(commands...)
	return root
}

// Group returns a command that has others below it and only prints its help.
func Group(name, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: name, Short: short, Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(commands...)
	return c
}

// suggestFlag adds the nearest name to the error of an unknown flag, and the type to
// the error of an invalid value.
func suggestFlag(c *cobra.Command, err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		f := invalid.GetFlag()
		return fmt.Errorf("--%s is %q; it must be %s", f.Name, invalid.GetValue(), configs.Wanted(f.Value.Type()))
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || unknown.GetSpecifiedShortnames() != "" {
		return err
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := configs.Nearest(unknown.GetSpecifiedName(), names); near != "" {
		return fmt.Errorf("%w; did you mean --%s?", err, near)
	}
	return fmt.Errorf("%w; `%s --help` lists the flags", err, c.CommandPath())
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
	if errors.As(err, new(*fs.PathError)) {
		err = fmt.Errorf("%w (%s)", err, source)
	}
	return cfg, err
}

// FlagGroup adds flags to a command and returns them for RefuseFlags.
func FlagGroup(c *cobra.Command, add func(*pflag.FlagSet)) *pflag.FlagSet {
	group := pflag.NewFlagSet("", pflag.ContinueOnError)
	group.SortFlags = false
	add(group)
	c.Flags().AddFlagSet(group)
	return group
}

// RefuseFlags returns an error if one of these flags was given. why completes a
// sentence that begins with the flag.
func RefuseFlags(group *pflag.FlagSet, why string) (err error) {
	group.VisitAll(func(f *pflag.Flag) {
		if f.Changed && err == nil {
			err = fmt.Errorf("--%s %s", f.Name, why)
		}
	})
	return err
}

// UnknownValue adds the nearest known value to the error of a flag.
func UnknownValue(flag string, err error, value string, known []string) error {
	if near := configs.Nearest(value, known); near != "" && near != value {
		return fmt.Errorf("%s: %w; did you mean %s?", flag, err, near)
	}
	return fmt.Errorf("%s: %w", flag, err)
}

// GivenFlags returns the set flags' values by name, without API keys: reports get pasted.
func GivenFlags(flags *pflag.FlagSet) map[string]string {
	set := map[string]string{}
	flags.Visit(func(f *pflag.Flag) {
		if !strings.HasSuffix(f.Name, "api-key") {
			set[f.Name] = f.Value.String()
		}
	})
	return set
}
