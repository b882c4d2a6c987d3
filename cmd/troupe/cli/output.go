package cli

import (
	"encoding/json"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/troupe-engine/troupe/telemetry/logtext"
)

func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// Filter returns the filter for a model's text: a terminal gets no control characters.
func Filter(out io.Writer) func(string) string {
	if f, ok := out.(*os.File); ok && IsTerminal(f) {
		return logtext.Prose
	}
	return func(text string) string { return text }
}

// Print writes the result of a command, as JSON or with the function for text.
func Print(c *cobra.Command, asJSON bool, result any, text func(io.Writer) error) error {
	if asJSON {
		return PrintJSON(c.OutOrStdout(), result)
	}
	return text(c.OutOrStdout())
}

// Table aligns the cells that write separates by tabs, for Print. flags are tabwriter's.
func Table(flags uint, write func(io.Writer)) func(io.Writer) error {
	return func(out io.Writer) error {
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', flags)
		write(w)
		return w.Flush()
	}
}

// PrintJSON writes a value on several lines.
func PrintJSON(w io.Writer, v any) error { return encode(w, v, "  ") }

// PrintJSONLine writes a value on one line.
func PrintJSONLine(w io.Writer, v any) error { return encode(w, v, "") }

func encode(w io.Writer, v any, indent string) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	return e.Encode(v)
}
