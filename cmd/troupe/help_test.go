package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/configs"
)

// Every help text fits on a screen's width and has its flags by topic, each once.
func TestHelpFits(t *testing.T) {
	var all func(c *cobra.Command)
	seen := 0
	all = func(c *cobra.Command) {
		root, args := newRoot(), strings.Fields(c.CommandPath())[1:]
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetErr(&out)
		root.SetArgs(append(args, "--help"))
		if err := root.Execute(); err != nil {
			t.Errorf("%s: %v", c.CommandPath(), err)
		}
		seen++
		text := out.String()
		for line := range strings.Lines(text) {
			line = strings.TrimRight(line, "\n")
			if utf8.RuneCountInString(line) > cli.Columns && !strings.HasPrefix(line, "  troupe ") { // commands can be copied only whole
				t.Errorf("%s --help has a line of %d columns: %s", c.CommandPath(), utf8.RuneCountInString(line), line)
			}
		}
		if !strings.Contains(text, "Usage:") {
			t.Errorf("%s --help is %s", c.CommandPath(), text)
		}
		for _, below := range c.Commands() {
			if below.IsAvailableCommand() {
				all(below)
			}
		}
	}
	all(newRoot())
	if seen < 25 {
		t.Errorf("only %d commands", seen)
	}
	root := newRoot()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetArgs([]string{"serve", "--help"})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, topic := range configs.Topics() {
		next := strings.Index(out.String(), "\n"+topic+":\n")
		if next < at {
			t.Errorf("the topic %s is not in its place", topic)
		}
		at = next
	}
	if n := strings.Count(out.String(), "  --page-size "); n != 1 {
		t.Errorf("--page-size is there %d times", n)
	}
}
