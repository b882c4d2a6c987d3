package replay

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/internal/units"
	"github.com/troupe-engine/troupe/lab/trace"
)

func (f *command) open() (trace.Reader, error) {
	if f.format == "" {
		return nil, fmt.Errorf("--format is missing; use one of %s", strings.Join(trace.Formats(), ", "))
	}
	if f.gap <= 0 {
		return nil, fmt.Errorf("--conversation-gap is %v; it must be above 0, for example %v", f.gap, trace.DefaultConversationGap)
	}
	r, err := trace.Open(f.trace, f.format, trace.Options{Seed: f.seed, ConversationGap: f.gap,
		Warn: func(note string) { f.skipped = append(f.skipped, note) }})
	switch {
	case err == nil:
		return r, nil
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("--trace %s does not exist", f.trace)
	case !slices.Contains(trace.Formats(), f.format):
		return nil, cli.UnknownValue("--format", err, f.format, trace.Formats())
	}
	return nil, fmt.Errorf("--trace: %w", err)
}

// each calls step for every request of the trace, with a status line.
func (f *command) each(c *cobra.Command, doing string, step func(*trace.Request) error) error {
	r, err := f.open()
	if err != nil {
		return err
	}
	defer r.Close()
	status := cli.NewStatus()
	defer status.Clear()
	for n := 1; f.limit == 0 || n <= f.limit; n++ {
		req, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("--trace: %w", err)
		}
		if err := step(req); err != nil {
			return fmt.Errorf("--trace: %s: %w", f.trace, err)
		}
		if n%256 == 0 {
			if err := c.Context().Err(); err != nil {
				return err
			}
			if read, size := r.Progress(); size > 0 {
				status.Show("%s: %3d %% of %s", doing, read*100/size, units.Bytes(size))
			}
		}
	}
	return nil
}
