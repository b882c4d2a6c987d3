package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/configs"
)

// NoArgs refuses arguments, and names the flags that may have been meant.
func NoArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	value := args[0]
	if strings.ContainsAny(value, " \t\n") {
		value = fmt.Sprintf("%q", value)
	}
	var flags []string
	for _, name := range []string{"model", "prompt", "trace", "node", "url"} {
		if f := c.Flags().Lookup(name); f != nil && f.Value.Type() == "string" {
			flags = append(flags, fmt.Sprintf("the %s with --%s %s", name, name, value))
		}
	}
	name := strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" ")
	if len(flags) == 0 {
		return fmt.Errorf("%s takes no arguments; remove %s", name, value)
	}
	return fmt.Errorf("%s takes no arguments; give %s", name, strings.Join(flags, " or "))
}

// knownCommand refuses names that none of the commands below a command has.
func knownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if remedy := foreignCommand(c, args[0]); remedy != "" {
		return fmt.Errorf("unknown command %q; %s", args[0], remedy)
	}
	var names []string
	for _, below := range c.Commands() {
		names = append(names, below.Name())
	}
	if near := configs.Nearest(args[0], names); near != "" {
		return fmt.Errorf("unknown command %q; did you mean %s %s?", args[0], c.CommandPath(), near)
	}
	return fmt.Errorf("unknown command %q; `%s --help` lists the commands", args[0], c.CommandPath())
}
