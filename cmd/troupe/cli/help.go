package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/troupe-engine/troupe/configs"
)

// Columns is the widest line of a help text.
const Columns = 100

// usage prints the help of a command after its description: how it is called, the commands
// below it, and its flags by topic.
func usage(c *cobra.Command) error {
	out := c.OutOrStderr()
	fmt.Fprint(out, "Usage:\n")
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(out, "  %s COMMAND\n", c.CommandPath())
	} else {
		fmt.Fprintf(out, "  %s\n", c.UseLine())
	}
	if c.HasExample() {
		fmt.Fprintf(out, "\nExamples:\n%s\n", c.Example)
	}
	for _, group := range commandGroups(c) {
		fmt.Fprintf(out, "\n%s:\n", group.name)
		for _, below := range group.commands {
			name := fmt.Sprintf("  %-*s  ", below.NamePadding(), below.Name())
			fmt.Fprintf(out, "%s%s\n", name, wrapped(below.Short, len(name)))
		}
	}
	for _, group := range topics(c) {
		fmt.Fprintf(out, "\n%s:\n%s\n", group.name, strings.TrimRight(group.flags.FlagUsagesWrapped(Columns), "\n"))
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(out, "\n`%s COMMAND --help` describes a command.\n", c.CommandPath())
	}
	return nil
}

// tasks are what people do with the commands of the root, in order. Others come last.
var tasks = []struct{ name, commands string }{
	{"Serve and talk", "serve chat generate"},
	{"Models", "pull list show rm"},
	{"Operate", "top health inspect cluster keys"},
	{"Measure", "bench replay"},
}

// commandGroup are commands for one task.
type commandGroup struct {
	name     string
	commands []*cobra.Command
}

// commandGroups groups the commands below a command.
func commandGroups(c *cobra.Command) (all []commandGroup) {
	if !c.HasAvailableSubCommands() {
		return nil
	}
	rest := slices.DeleteFunc(slices.Clone(c.Commands()), func(one *cobra.Command) bool { return !one.IsAvailableCommand() && one.Name() != "help" })
	if c.HasParent() {
		return []commandGroup{{"Commands", rest}}
	}
	for _, task := range tasks {
		g := commandGroup{name: task.name}
		for _, name := range strings.Fields(task.commands) {
			if i := slices.IndexFunc(rest, func(one *cobra.Command) bool { return one.Name() == name }); i >= 0 {
				g.commands = append(g.commands, rest[i])
				rest = slices.Delete(rest, i, i+1)
			}
		}
		if len(g.commands) > 0 {
			all = append(all, g)
		}
	}
	return append(all, commandGroup{"More", rest})
}

// topic is a group of flags.
type topic struct {
	name  string
	flags *pflag.FlagSet
}

// topics groups the flags of a command: its own first, then those of the settings, in the
// order of the settings.
func topics(c *cobra.Command) (all []topic) {
	add := func(name string, f *pflag.Flag) {
		for i := range all {
			if all[i].name == name {
				all[i].flags.AddFlag(f)
				return
			}
		}
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		set.SortFlags = false
		set.AddFlag(f)
		all = append(all, topic{name, set})
	}
	flags := c.Flags()
	flags.AddFlagSet(c.InheritedFlags())
	byTopic := map[string][]*pflag.Flag{}
	flags.VisitAll(func(f *pflag.Flag) {
		if name := f.Annotations[configs.TopicOfFlag]; len(name) > 0 {
			byTopic[name[0]] = append(byTopic[name[0]], f)
		} else if !f.Hidden {
			add("Flags", f)
		}
	})
	for _, name := range configs.Topics() {
		for _, f := range byTopic[name] {
			add(name, f)
		}
	}
	return all
}

// wrapped breaks a text that begins at a column.
func wrapped(text string, column int) string {
	var b strings.Builder
	at := column
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case at+1+len(word) > Columns:
			b.WriteString("\n" + strings.Repeat(" ", column))
			at = column
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += len(word)
	}
	return b.String()
}

// reflowed breaks the paragraphs of a text anew. Those with an indented line stay as they are.
func reflowed(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		if !strings.HasPrefix(p, " ") && !strings.Contains(p, "\n ") {
			paragraphs[i] = wrapped(p, 0)
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

// help prints the description of a command, and its usage.
func help(c *cobra.Command, _ []string) {
	out := c.OutOrStdout()
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	_, _ = io.WriteString(out, reflowed(text)+"\n\n")
	c.SetOut(out)
	c.SetErr(out)
	_ = usage(c)
}
