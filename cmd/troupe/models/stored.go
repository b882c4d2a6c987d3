package models

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/internal/hub"
	"github.com/troupe-engine/troupe/internal/units"
)

// listed is a line of the list.
type listed struct {
	Model    string    `json:"model"`
	Bytes    int64     `json:"bytes"`
	Waiting  int64     `json:"incomplete_bytes,omitempty"`
	Weights  bool      `json:"has_weights"` // all of a model, in a format that is supported
	Commits  int       `json:"commits"`
	Modified time.Time `json:"modified"`
}

func newList() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "List the models in the cache", Args: cli.NoArgs, Aliases: []string{"ls"},
		RunE: func(c *cobra.Command, _ []string) error {
			h, err := client("")
			if err != nil {
				return err
			}
			all, err := h.List()
			if err != nil {
				return err
			}
			lines := []listed{}
			for _, s := range all {
				lines = append(lines, listed{s.Name.String(), s.Bytes, s.Waiting, s.Weights, len(s.Commits), s.Modified})
			}
			if len(lines) == 0 && !asJSON {
				_, err := fmt.Fprintln(c.OutOrStdout(), "no models are in the cache; troupe pull ORG/REPO downloads one")
				return err
			}
			return cli.Print(c, asJSON, lines, cli.Table(0, func(w io.Writer) {
				fmt.Fprintln(w, "MODEL\tSIZE\tMODIFIED")
				for _, l := range lines {
					note := ""
					switch {
					case l.Waiting > 0:
						note = fmt.Sprintf("\tunfinished download: %s", units.Bytes(l.Waiting))
					case !l.Weights:
						note = "\tno weights that Troupe can load"
					}
					fmt.Fprintf(w, "%s\t%s\t%s%s\n", l.Model, units.Bytes(l.Bytes), l.Modified.Local().Format("2006-01-02 15:04"), note)
				}
			}))
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// shown is a commit of a model.
type shown struct {
	Commit    string      `json:"commit"`
	Revisions []string    `json:"revisions"`
	Bytes     int64       `json:"bytes"`
	Files     []shownFile `json:"files"`
}

type shownFile struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

func newShow() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "show MODEL", Short: "Show the revisions and files of a cached model", Args: oneModel,
		Example: "  troupe show Qwen/Qwen2.5-0.5B-Instruct",
		RunE: func(c *cobra.Command, args []string) error {
			n, err := named(c, args[0])
			if err != nil {
				return err
			}
			h, err := client(n.String())
			if err != nil {
				return err
			}
			s, err := h.Show(n)
			if err != nil {
				return err
			}
			return cli.Print(c, asJSON, commits(s), cli.Table(0, func(w io.Writer) { printCommits(w, s) }))
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func commits(s *hub.Stored) []shown {
	all := []shown{}
	for _, one := range s.Commits {
		c := shown{Commit: one.Commit, Revisions: append([]string{}, one.Revisions...), Bytes: one.Bytes}
		for _, f := range one.Files {
			c.Files = append(c.Files, shownFile{f.Path, f.Size})
		}
		all = append(all, c)
	}
	return all
}

func printCommits(w io.Writer, s *hub.Stored) {
	for _, c := range s.Commits {
		fmt.Fprintf(w, "%s@%s\t%s\t%s\n", s.Name, c.Commit, units.Bytes(c.Bytes), strings.Join(c.Revisions, ", "))
		for _, f := range c.Files {
			fmt.Fprintf(w, "  %s\t%s\t\n", f.Path, units.Bytes(f.Size))
		}
	}
	if s.Waiting > 0 {
		fmt.Fprintf(w, "unfinished download: %s; troupe pull continues it\t\t\n", units.Bytes(s.Waiting))
	}
}

func newRemove() *cobra.Command {
	return &cobra.Command{
		Use: "rm MODEL", Short: "Remove a model from the cache", Args: oneModel,
		Long: "Removes a model from the cache, with all its revisions. With :QUANT or @REVISION it removes only that part.\n" +
			"Files that another revision uses stay. Other programs that use Hugging Face's libraries share this cache.",
		Example: "  troupe rm Qwen/Qwen2.5-0.5B-Instruct\n  troupe rm Qwen/Qwen2.5-1.5B-Instruct-GGUF:Q8_0",
		RunE: func(c *cobra.Command, args []string) error {
			n, err := named(c, args[0])
			if err != nil {
				return err
			}
			h, err := client(n.String())
			if err != nil {
				return err
			}
			freed, err := h.Remove(n)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "removed %s: %s freed\n", n, units.Bytes(freed))
			return err
		},
	}
}
