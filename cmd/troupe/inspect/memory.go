package inspect

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/cmd/troupe/node"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/internal/units"
)

func newMemory() *cobra.Command {
	var asJSON bool
	var size string
	live := &liveMemory{}
	c := &cobra.Command{
		Use: "memory", Short: "Print the memory plan, or with --url the memory of a running server", Args: cobra.NoArgs,
		Long: "Prints how the memory is divided between weights, workspace and KV pool, and which settings decide it.\n" +
			"Without --memory it plans for this machine, as serve does. With --memory it plans for an accelerator of\n" +
			"that size, with the defaults of one. With --url it shows a running server, once or over time.",
		Example: "  troupe inspect memory --model DIR --memory 80GiB\n  troupe inspect memory --url http://127.0.0.1:30000\n" +
			"  troupe inspect memory --url http://127.0.0.1:30000 --record 60s --plot out.svg",
		RunE: func(c *cobra.Command, _ []string) error {
			if err := live.check(); err != nil {
				return err
			}
			if live.server.URL == "" {
				return planMemory(c, size, asJSON)
			}
			if err := cli.RefuseFlags(c, live.planFlags, "plans a server that does not run yet; with --url it has no effect"); err != nil {
				return err
			}
			live.json = asJSON
			return live.run(c)
		},
	}
	configs.AddEngineFlags(c.Flags())
	c.Flags().StringVar(&size, "memory", "", "plan for an accelerator with this much memory. Example: 80GiB")
	c.Flags().VisitAll(func(f *pflag.Flag) { live.planFlags = append(live.planFlags, f.Name) })
	live.addFlags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// planMemory plans for an accelerator of a size, or for this machine if the
// size is empty.
func planMemory(c *cobra.Command, size string, asJSON bool) error {
	cfg, name, m, device, err := openModel(c)
	if err != nil {
		return err
	}
	defer m.Close()
	d, held := node.DeviceMemory{WeightBytes: m.WeightBytes()}, gpu.WeightPlan{}
	if size != "" {
		bytes, err := units.ParseBytes(size)
		if err != nil {
			return fmt.Errorf("--memory: %w", err)
		}
		d.Own, d.Before = true, gpu.Memory{Total: bytes, Available: bytes, Source: "--memory"}
	} else {
		if d.Before, err = device.Memory(); err != nil {
			return err
		}
		if held, err = device.PlanWeights(m.Program, m.Weights); err != nil {
			return err
		}
		d.WeightBytes = held.Bytes
	}
	plan, dtype, err := node.PlanMemory(cfg, m, d)
	if err != nil && size == "" {
		err = node.WhatFits(err, cfg, m, d)
	}
	if err == nil && size == "" {
		if err = device.Info().CheckKV(dtype); err != nil {
			err = configs.About(fmt.Errorf("%s device: %w", device.Info().Kind, err), "kv-cache-dtype")
		}
	}
	switch {
	case err != nil:
		return cfg.Explain(err)
	case asJSON:
		return cli.PrintJSON(c.OutOrStdout(), map[string]any{"model": name, "kv_cache_dtype": dtype.String(), "plan": plan})
	}
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s, kv-cache-dtype %s, weights in their stored type%s\n", name, dtype, except(held))
	for _, f := range plan.Figures {
		value := fmt.Sprintf("%d %s", f.Value, f.Unit)
		if f.Unit == "bytes" {
			value = units.Bytes(f.Value)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.Name, value, f.From)
	}
	fmt.Fprintf(w, "KV pool\t%d tokens in %d pages\tlimited by %s\n", plan.Tokens, plan.Pages, plan.Bound)
	for _, warning := range plan.Warnings {
		fmt.Fprintf(w, "note: %s\n", warning)
	}
	return w.Flush()
}

// except lists the weights that the device keeps in another type.
func except(p gpu.WeightPlan) string {
	text := ""
	for _, c := range p.Changed {
		matrices := "matrices"
		if c.Tensors == 1 {
			matrices = "matrix"
		}
		text += fmt.Sprintf(", %d %s of %s as %s (%s)", c.Tensors, matrices, c.Stored, c.Held, c.Why)
	}
	if text == "" {
		return ""
	}
	return " except" + text[1:]
}
