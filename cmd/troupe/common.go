package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/mattn/go-colorable"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/troupe-engine/troupe/cmd/troupe/node"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/telemetry/logtext"
)

// loadConfig reads the settings of a command: file, environment, flags.
func loadConfig(c *cobra.Command) (*configs.Config, []configs.Value, error) {
	return loadWith(c, c.Flags())
}

// loadWith is loadConfig for a command whose flags are not all settings.
func loadWith(c *cobra.Command, settings *pflag.FlagSet) (*configs.Config, []configs.Value, error) {
	file, err := c.Flags().GetString("config")
	if err != nil {
		return nil, nil, err
	}
	source := "flag --config"
	if file == "" {
		file, source = configs.DefaultFile(), "environment TROUPE_CONFIG"
	}
	cfg, values, err := configs.Load(file, settings)
	if errors.As(err, new(*fs.PathError)) {
		err = fmt.Errorf("%w (%s)", err, source)
	}
	return cfg, values, err
}

// newLogger writes text to a terminal and JSON elsewhere, always to stderr:
// stdout belongs to results.
func newLogger(c *configs.Config) zerolog.Logger {
	level, err := zerolog.ParseLevel(c.LogLevel)
	if err != nil {
		level = zerolog.InfoLevel // validated before
	}
	zerolog.TimeFieldFormat = time.RFC3339Nano
	terminal, out := isTerminal(os.Stderr), io.Writer(os.Stderr)
	if terminal {
		out = colorable.NewColorable(os.Stderr) // colours on Windows
	}
	return newLog(out, c.LogFormat == "text" || c.LogFormat == "auto" && terminal, terminal).Level(level).With().Timestamp().Logger()
}

// newLog writes lines of text or of JSON. Neither has characters that steer a
// terminal, wherever they come from, but for the colours.
func newLog(out io.Writer, text, colours bool) zerolog.Logger {
	if !text {
		return zerolog.New(logtext.NewWriter(out, false))
	}
	return zerolog.New(zerolog.ConsoleWriter{Out: logtext.NewWriter(out, colours), TimeFormat: "15:04:05", NoColor: !colours,
		FormatPrepare: func(line map[string]any) error {
			// The message alone is written as it is; values are quoted. With
			// colours, an escape sequence in it would pass the writer.
			if message, ok := line[zerolog.MessageFieldName].(string); ok {
				line[zerolog.MessageFieldName] = logtext.Escape(message)
			}
			return nil
		}})
}

// shown is how a model's words are written: as they are, but to a terminal
// without what steers it.
func shown(out io.Writer) func(string) string {
	if f, ok := out.(*os.File); ok && isTerminal(f) {
		return logtext.Prose
	}
	return func(text string) string { return text }
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// openNode starts an engine for a command, quietly unless it serves.
func openNode(ctx context.Context, c *configs.Config, log zerolog.Logger) (*node.Node, error) {
	return node.Open(ctx, node.Options{Config: c, Log: log, Version: versionText(), Progress: progress()})
}

// progress shows a percentage on a terminal while weights are loaded; nothing
// for a load that is over at once.
func progress() func(done, total int64) {
	if !isTerminal(os.Stderr) {
		return nil
	}
	start, shown := time.Now(), -1
	return func(done, total int64) {
		percent := int(done * 100 / max(total, 1))
		if time.Since(start) < 300*time.Millisecond || percent == shown {
			return
		}
		shown = percent
		fmt.Fprintf(os.Stderr, "\rloading weights: %3d %% of %s", percent, amount(total, "bytes"))
		if done >= total {
			fmt.Fprintln(os.Stderr)
		}
	}
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// printJSONLine writes a value in one line.
func printJSONLine(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
