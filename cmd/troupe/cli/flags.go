package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/troupe-engine/troupe/cmd/troupe/node"
	"github.com/troupe-engine/troupe/configs"
)

// suggestFlag adds the nearest name to an unknown flag's error, a type to a bad value's.
// A flag after an unknown command belongs to the command that was meant.
func suggestFlag(c *cobra.Command, err error) error {
	if c.HasSubCommands() {
		if unknown := knownCommand(c, c.Flags().Args()); unknown != nil {
			return unknown
		}
	}
	return FlagError(err, c.Flags(), c.CommandPath())
}

// FlagError is suggestFlag for flags that are not those of a command; helper is the
// command whose --help lists them.
func FlagError(err error, flags *pflag.FlagSet, helper string) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		f := invalid.GetFlag()
		return fmt.Errorf("--%s is %q; it must be %s", f.Name, invalid.GetValue(), configs.Wanted(f.Value.Type()))
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return err
	}
	if remedy := foreignFlag(unknown, flags); remedy != "" {
		return fmt.Errorf("%w; %s", err, remedy)
	}
	if unknown.GetSpecifiedShortnames() != "" {
		return fmt.Errorf("%w; `%s --help` lists the flags", err, helper)
	}
	var names []string
	flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := configs.Nearest(unknown.GetSpecifiedName(), names); near != "" {
		return fmt.Errorf("%w; did you mean --%s?", err, near)
	}
	return fmt.Errorf("%w; `%s --help` lists the flags", err, helper)
}

// FlagGroup adds flags to a command and returns them for RefuseFlags.
func FlagGroup(c *cobra.Command, add func(*pflag.FlagSet)) *pflag.FlagSet {
	group := pflag.NewFlagSet("", pflag.ContinueOnError)
	group.SortFlags = false
	add(group)
	c.Flags().AddFlagSet(group)
	return group
}

// RefuseFlags returns an error if one of these flags was given, except some. why completes
// a sentence that begins with the flag.
func RefuseFlags(group *pflag.FlagSet, why string, except ...string) (err error) {
	group.VisitAll(func(f *pflag.Flag) {
		if f.Changed && err == nil && !slices.Contains(except, f.Name) {
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

// AddSamplingFlags declares the sampling parameters of generate and chat. Others come
// from sampling-defaults.
func AddSamplingFlags(c *cobra.Command, s *node.Sampling) {
	c.Flags().IntVar(&s.MaxTokens, "max-tokens", 0, "maximum number of tokens to generate; 0: until the context is full")
	c.Flags().Float64Var(&s.Temperature, "temperature", 0, "randomness; 0: always the most likely token; default: the model's")
	c.Flags().Float64Var(&s.TopP, "top-p", 0, "sample from the most likely tokens with this total probability; default: the model's")
	c.Flags().IntVar(&s.TopK, "top-k", 0, "sample from this many most likely tokens; 0: all; default: the model's")
	c.Flags().Uint64Var(&s.Seed, "seed", 0, "seed for repeatable output; default: random")
	s.Set = c.Flags().Changed
}
