package replay

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/internal/units"
	"github.com/troupe-engine/troupe/lab/measure"
	"github.com/troupe-engine/troupe/lab/replay"
)

// compares reports whether several replays are compared.
func (f *engineFlags) compares() bool { return len(f.gateways) != 1 || len(f.delays) != 1 }

// gatewaysRow is a replay, compared with the one of one gateway without delay.
type gatewaysRow struct {
	*replay.Report
	HitRatioToOne float64 `json:"hit_ratio_to_one"`
	TTFTP99ToOne  float64 `json:"ttft_p99_to_one"`
}

// runGateways replays the trace with one gateway and no delay, and with each number of
// gateways and each delay.
func (f *command) runGateways(c *cobra.Command, opt replay.Options) error {
	if f.engine.plot != "" {
		return errors.New("--plot draws one replay; use one number of --gateways and one --event-delay")
	}
	all := []replay.Options{opt}
	all[0].Gateways, all[0].EventDelay = 1, 0
	for _, n := range distinct(f.engine.gateways) {
		for _, delay := range distinct(f.engine.delays) {
			if n != 1 || delay != 0 {
				opt.Gateways, opt.EventDelay = n, delay
				all = append(all, opt)
			}
		}
	}
	for i := range all {
		if err := all[i].Check(); err != nil { // before the first long replay
			return err
		}
	}
	rows := make([]gatewaysRow, len(all))
	var notes measure.Notes
	var took time.Duration
	for i, opt := range all {
		report, time, err := f.replay(c, opt, fmt.Sprintf("replay %d of %d", i+1, len(all)))
		if err != nil {
			return err
		}
		took += time
		report.Series = nil
		notes = append(notes, report.Warnings...)
		rows[i].Report = report
		rows[i].HitRatioToOne = measure.Ratio(report.Cache.HitRatio, rows[0].Cache.HitRatio)
		rows[i].TTFTP99ToOne = measure.Ratio(report.TTFT.P99, rows[0].TTFT.P99)
	}
	return f.printGateways(c, all, rows, distinct(notes), took)
}

func (f *command) printGateways(c *cobra.Command, all []replay.Options, rows []gatewaysRow, notes []string, took time.Duration) error {
	if f.asJSON {
		for _, note := range notes {
			fmt.Fprintf(c.ErrOrStderr(), "note: %s\n", note)
		}
		return cli.PrintJSON(c.OutOrStdout(), map[string]any{"trace": f.trace, "format": f.format, "results": rows})
	}
	moved := slices.ContainsFunc(rows, func(r gatewaysRow) bool { return r.Requests.Moved > 0 })
	s := &rows[0].Setup
	out := c.OutOrStdout()
	fmt.Fprintf(out, "%s on %s, %d engines, %s routing, %s requests\n\n", s.Model, s.GPU, s.Replicas, s.Routing, units.Grouped(rows[0].Requests.Finished))
	err := cli.Table(tabwriter.AlignRight, func(w io.Writer) {
		fmt.Fprint(w, "gateways\tevent delay\thit ratio\tto one\tTTFT p50\tp99\tto one\t")
		if moved {
			fmt.Fprint(w, "moved\t")
		}
		fmt.Fprintln(w)
		for i, r := range rows {
			fmt.Fprintf(w, "%d\t%v\t%.2f %%\t%.1f %%\t%s\t%s\t%.2f\t", all[i].Gateways, all[i].EventDelay, 100*r.Cache.HitRatio, 100*r.HitRatioToOne,
				replay.Clock(r.TTFT.P50), replay.Clock(r.TTFT.P99), r.TTFTP99ToOne)
			if moved {
				fmt.Fprintf(w, "%d\t", r.Requests.Moved)
			}
			fmt.Fprintln(w)
		}
	})(out)
	if err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintf(out, "note: %s\n", note)
	}
	_, err = fmt.Fprintf(out, "simulated in %v\n", took.Round(10*time.Millisecond))
	return err
}
