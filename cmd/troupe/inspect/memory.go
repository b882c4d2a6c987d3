package inspect

import (
	"fmt"
	"io"

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
	var planFlags *pflag.FlagSet
	live := &liveMemory{}
	c := &cobra.Command{
		Use: "memory", Short: "Print the memory plan, or with --url the memory of a running server", Args: cli.NoArgs,
		Long: "Prints how the memory is divided between weights, workspace and KV pool, and which settings decide it.\n" +
			"Without --memory it plans for this machine, as serve does. With --memory it plans for an accelerator of\n" +
			"that size, with the defaults for accelerators. With --url it shows a running server, once or over time.",
		Example: "  troupe inspect memory --model DIR --memory 80GiB\n  troupe inspect memory --url http://127.0.0.1:30000\n" +
			"  troupe inspect memory --url http://127.0.0.1:30000 --record 60s --plot out.svg",
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("url") { // an empty one is a mistake, and not this machine
				if _, err := live.server.Client(); err != nil {
					return err
				}
			}
			if err := live.check(); err != nil {
				return err
			}
			if live.server.URL == "" {
				return planMemory(c, size, asJSON)
			}
			if err := cli.RefuseFlags(planFlags, "has no effect with --url, which shows a running server; remove one of the two flags"); err != nil {
				return err
			}
			live.json = asJSON
			return live.run(c)
		},
	}
	planFlags = cli.FlagGroup(c, func(flags *pflag.FlagSet) {
		configs.AddEngineFlags(flags)
		flags.StringVar(&size, "memory", "", "plan for an accelerator with this much memory. Example: 80GiB")
	})
	live.addFlags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// planMemory plans for an accelerator of a size, or for this machine if size is empty.
func planMemory(c *cobra.Command, size string, asJSON bool) error {
	cfg, name, m, device, err := openModel(c)
	if err != nil {
		return err
	}
	defer m.Close()
	defer device.Close()
	var p node.Planned
	if size == "" {
		p, err = node.PlanOn(device, cfg, m)
	} else {
		bytes, e := units.ParseBytes(size)
		if e != nil {
			return fmt.Errorf("--memory: %w", e)
		}
		p.Before = gpu.Memory{Total: bytes, Available: bytes, Source: "--memory", Own: true}
		p.Plan, p.KVDType, err = node.PlanMemory(cfg, m, node.DeviceMemory{Before: p.Before, WeightBytes: m.WeightBytes()})
	}
	if err != nil {
		return cfg.Explain(err)
	}
	plan := p.Plan
	result := map[string]any{"model": name, "kv_cache_dtype": p.KVDType.String(), "plan": plan}
	return cli.Print(c, asJSON, result, cli.Table(0, func(w io.Writer) {
		fmt.Fprintf(w, "%s, kv-cache-dtype %s, weights in their stored type%s\n", name, p.KVDType, except(p.Weights))
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
	}))
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
