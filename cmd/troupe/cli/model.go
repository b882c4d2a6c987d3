package cli

import (
	"fmt"
	"os"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cmd/troupe/node"
	"github.com/troupe-engine/troupe/internal/hub"
	"github.com/troupe-engine/troupe/internal/units"
)

// ModelArg lets a command take the model as its only argument, in place of --model.
func ModelArg(c *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case len(args) > 1:
		return fmt.Errorf("%s takes one model, but there are %d arguments; remove %q", c.Name(), len(args), args[1])
	case c.Flags().Changed("model") || c.Flags().Changed("model-path"):
		return fmt.Errorf("the model is given twice, as %s and by --model; remove one of them", args[0])
	}
	return c.Flags().Set("model", args[0])
}

// Fetching shows a download on the terminal, warnings in the log.
func Fetching(log zerolog.Logger) node.Fetching {
	return node.Fetching{Progress: DownloadProgress(), Warn: func(text string) { log.Warn().Msg(text) }}
}

// FetchingPlain is Fetching for commands without a log.
func FetchingPlain() node.Fetching {
	return node.Fetching{Progress: DownloadProgress(), Warn: func(text string) { fmt.Fprintln(os.Stderr, "troupe:", text) }}
}

// DownloadProgress shows the progress of a download on a line of the terminal.
func DownloadProgress() func(string, hub.Progress) {
	s := NewStatus()
	return func(model string, p hub.Progress) {
		if p.File == "" {
			s.Clear()
			return
		}
		s.Show("%s: %3d %% of %s, %s", model, p.Done*100/max(p.Total, 1), units.Bytes(p.Total), s.rate(p.Done))
	}
}

// rate is the speed since the first call, and the time that is left is easy to see from it.
func (s *Status) rate(done int64) string {
	if s.from == nil {
		s.from = &done
	}
	seconds := max(s.age().Seconds(), 0.001)
	return units.Bytes(int64(float64(done-*s.from)/seconds)) + "/s"
}
