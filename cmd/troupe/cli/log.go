package cli

import (
	"io"
	"os"
	"time"

	"github.com/mattn/go-colorable"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/telemetry/logtext"
)

// Logger writes to stderr, text to a terminal and JSON elsewhere: stdout is for results.
func Logger(c *configs.Config) zerolog.Logger {
	level, _ := zerolog.ParseLevel(c.LogLevel) // the settings were checked
	zerolog.TimeFieldFormat = time.RFC3339Nano
	terminal, out := IsTerminal(os.Stderr), io.Writer(os.Stderr)
	if terminal {
		out = colorable.NewColorable(os.Stderr) // colours on Windows
	}
	return newLog(out, c.LogFormat == "text" || c.LogFormat == "auto" && terminal, terminal).Level(level).With().Timestamp().Logger()
}

// QuietLogger is for commands that do not serve: only warnings, unless --log-level is given.
func QuietLogger(c *cobra.Command, cfg *configs.Config) zerolog.Logger {
	log := Logger(cfg)
	if !c.Flags().Changed("log-level") {
		log = log.Level(zerolog.WarnLevel)
	}
	return log
}

// newLog writes text or JSON without control characters, except for its own colours.
func newLog(out io.Writer, text, colours bool) zerolog.Logger {
	if !text {
		return zerolog.New(logtext.NewWriter(out, false))
	}
	return zerolog.New(zerolog.ConsoleWriter{Out: logtext.NewWriter(out, colours), TimeFormat: "15:04:05", NoColor: !colours,
		FormatPrepare: func(line map[string]any) error {
			// zerolog quotes values, but not the message. With colours, the writer
			// would let an escape sequence in it pass.
			if message, ok := line[zerolog.MessageFieldName].(string); ok {
				line[zerolog.MessageFieldName] = logtext.Escape(message)
			}
			return nil
		}})
}
