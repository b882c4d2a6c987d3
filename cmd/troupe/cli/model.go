package cli

import (
	"fmt"
	"os"
	"time"

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

// Fetching shows a download on the terminal, or in the log if there is none; warnings in the log.
func Fetching(log zerolog.Logger) node.Fetching {
	progress := DownloadProgress()
	if !IsTerminal(os.Stderr) {
		progress = logDownload(log, time.Now)
	}
	return node.Fetching{Progress: progress, Warn: func(text string) {
		clearStatus()
		log.Warn().Msg(text)
	}}
}

// FetchingPlain is Fetching for commands without a log.
func FetchingPlain() node.Fetching {
	return node.Fetching{Progress: DownloadProgress(), Warn: func(text string) {
		clearStatus()
		fmt.Fprintln(os.Stderr, "troupe:", text)
	}}
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

// downloadLog is the time between two lines of the log about a download.
const downloadLog = 30 * time.Second

// logDownload writes a line at the start of a download, every downloadLog, and at the end.
func logDownload(log zerolog.Logger, now func() time.Time) func(string, hub.Progress) {
	var model string // that is being downloaded; "": none
	var began, last time.Time
	var from int64
	return func(name string, p hub.Progress) {
		at := now()
		switch {
		case p.File == "" && model == "": // all files were there
		case p.File == "":
			log.Info().Str("model", name).Int64("total_bytes", p.Total).Int64("downloaded_bytes", p.Done-from).Dur("took_ms", at.Sub(began)).Msg("the model was downloaded")
			model = ""
		case model != name:
			model, began, last, from = name, at, at, p.Done
			line := log.Info().Str("model", name).Int("files", p.Files).Int64("total_bytes", p.Total).Int64("done_bytes", p.Done)
			if dir := hubCache(); dir != "" {
				line.Str("cache", dir)
			}
			line.Msg("downloading the model")
		case at.Sub(last) >= downloadLog:
			last = at
			log.Info().Str("model", name).Int64("percent", p.Done*100/max(p.Total, 1)).Int64("done_bytes", p.Done).Int64("total_bytes", p.Total).
				Int64("per_second_bytes", int64(float64(p.Done-from)/at.Sub(began).Seconds())).Msg("downloading the model")
		}
	}
}

// hubCache is the directory of downloaded models, "" if it is not known.
func hubCache() string {
	home, _ := os.UserHomeDir() // "" if there is none
	env, err := hub.FromEnvironment(os.LookupEnv, home)
	if err != nil {
		return ""
	}
	return env.Cache
}

// rate is the speed since the first call, and the time that is left is easy to see from it.
func (s *Status) rate(done int64) string {
	if s.from == nil {
		s.from = &done
	}
	seconds := max(s.age().Seconds(), 0.001)
	return units.Bytes(int64(float64(done-*s.from)/seconds)) + "/s"
}
