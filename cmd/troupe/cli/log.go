package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/mattn/go-colorable"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cmd/troupe/node"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/internal/units"
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
			humanUnits(line)
			if message, ok := line[zerolog.MessageFieldName].(string); ok {
				line[zerolog.MessageFieldName] = logtext.Escape(message)
			}
			return nil
		}})
}

// humanUnits writes figures of a line for people: amounts of memory and durations with their
// units, and the memory plan as one sentence. JSON keeps the plain numbers.
func humanUnits(line map[string]any) {
	number := func(key string) (int64, bool) {
		n, ok := line[key].(json.Number)
		if !ok {
			return 0, false
		}
		v, err := n.Float64()
		return int64(v), err == nil
	}
	if line[zerolog.MessageFieldName] == node.MemoryPlanMessage {
		amount := func(key string) string { n, _ := number(key); return units.Bytes(n) }
		tokens, _ := number("tokens")
		requests, _ := number("max_running_requests")
		text := fmt.Sprintf("memory: %s for the KV pool, which holds %s tokens of at most %d running requests (limited by %v); %s for weights, %s for workspace; %s was available. troupe inspect memory explains it",
			amount("kv_pool_bytes"), units.Grouped(tokens), requests, line["bound"], amount("weights_bytes"), amount("workspace_bytes"), amount("available_bytes"))
		for key := range line {
			if key != zerolog.LevelFieldName && key != zerolog.TimestampFieldName {
				delete(line, key)
			}
		}
		line[zerolog.MessageFieldName] = text
		return
	}
	for key := range line {
		if short, ok := strings.CutSuffix(key, "_bytes"); ok {
			if n, ok := number(key); ok {
				delete(line, key)
				line[short] = units.Bytes(n)
			}
		} else if short, ok := strings.CutSuffix(key, "_ms"); ok {
			if n, ok := line[key].(json.Number); ok {
				ms, err := n.Float64()
				if err != nil {
					continue
				}
				delete(line, key)
				line[short] = time.Duration(ms * float64(time.Millisecond)).Round(10 * time.Microsecond).String()
			}
		}
	}
}
