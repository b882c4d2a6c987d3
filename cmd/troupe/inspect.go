package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/troupe-engine/troupe/cmd/troupe/node"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/model"
	"github.com/troupe-engine/troupe/model/exec"
	"github.com/troupe-engine/troupe/model/tokenizer"
)

func newInspect() *cobra.Command {
	c := &cobra.Command{Use: "inspect", Short: "Show what is inside: settings, memory, cache, tokens, templates, logits",
		Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(newInspectConfig(), newInspectMemory(), newInspectCache(), newInspectTokens(), newInspectTemplate(), newInspectLogits())
	return c
}

func newInspectConfig() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "config", Short: "Print every setting, its value and where it came from", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, values, err := loadConfig(c)
			if err != nil {
				return err
			}
			for i := range values {
				hideKey(&values[i])
			}
			if asJSON {
				return printJSON(c.OutOrStdout(), values)
			}
			w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, v := range values {
				value := fmt.Sprint(v.Value)
				if list, ok := v.Value.([]string); ok {
					value = strings.Join(list, ",")
				}
				if value == "" {
					value = `""`
				}
				fmt.Fprintf(w, "%s\t%s\t%s\n", v.Key, value, v.Source)
			}
			return w.Flush()
		},
	}
	configs.AddFlags(c.Flags())
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// hideKey takes a key out of what is printed: printed settings get pasted.
func hideKey(v *configs.Value) {
	switch key := v.Value.(type) {
	case []string:
		if v.Key == "api-key" && len(key) > 0 {
			v.Value = []string{"(set)"}
		}
	case string:
		if v.Key == "admin-api-key" && key != "" {
			v.Value = "(set)"
		}
	}
}

// openModel reads a model's files for a look at them, without starting an
// engine. The caller closes the checkpoint.
func openModel(c *cobra.Command) (*configs.Config, string, *model.Checkpoint, gpu.Device, error) {
	cfg, _, err := loadConfig(c)
	if err != nil {
		return nil, "", nil, nil, err
	}
	files, name, err := node.Files(cfg)
	if err != nil {
		return nil, "", nil, nil, err
	}
	device, err := node.OpenDevice(cfg)
	if err != nil {
		return nil, "", nil, nil, err
	}
	m, err := files.Open(model.OpenOptions{LoadFormat: cfg.Open.LoadFormat, ContextLength: cfg.Open.ContextLength})
	if err != nil {
		return nil, "", nil, nil, cfg.Explain(node.AboutModel(err, cfg))
	}
	return cfg, name, m, device, nil
}

func newInspectMemory() *cobra.Command {
	var asJSON bool
	var size string
	live := &liveMemory{}
	c := &cobra.Command{
		Use: "memory", Short: "Print the memory plan, or with --url the memory of a running server", Args: cobra.NoArgs,
		Long: "Prints how much of the memory goes to weights, workspace and KV pool, and which setting decides.\n" +
			"Without --memory it plans for this machine, as serve does. With --memory it plans for an accelerator\n" +
			"of that size, with the defaults of one. With --url it shows a running server, once or over time.",
		Example: "  troupe inspect memory --model DIR --memory 80GiB\n  troupe inspect memory --url http://127.0.0.1:30000\n" +
			"  troupe inspect memory --url http://127.0.0.1:30000 --record 60s --plot out.svg",
		RunE: func(c *cobra.Command, _ []string) error {
			if err := live.check(); err != nil {
				return err
			}
			if live.server.url != "" {
				if err := refuseFlags(c, live.planFlags, "plans a server that does not run yet; with --url it has no effect"); err != nil {
					return err
				}
				live.json = asJSON
				return live.run(c)
			}
			cfg, name, m, device, err := openModel(c)
			if err != nil {
				return err
			}
			defer m.Close()
			d := node.DeviceMemory{WeightBytes: m.WeightBytes()}
			if size != "" {
				bytes, err := parseBytes(size)
				if err != nil {
					return fmt.Errorf("--memory: %w", err)
				}
				d.Own, d.Before = true, gpu.Memory{Total: bytes, Available: bytes, Source: "--memory"}
			}
			var held gpu.WeightPlan
			if size == "" {
				if d.Before, err = device.Memory(); err != nil {
					return err
				}
				if held, err = device.PlanWeights(m.Program, m.Weights); err != nil {
					return err
				}
				d.WeightBytes = held.Bytes
			}
			plan, dtype, err := node.PlanMemory(cfg, m, d)
			switch {
			case err != nil && size == "":
				return cfg.Explain(node.WhatFits(err, cfg, m, d))
			case err != nil:
				return cfg.Explain(err)
			}
			if size == "" {
				if err := device.Info().CheckKV(dtype); err != nil {
					return cfg.Explain(configs.About(fmt.Errorf("%s device: %w", device.Info().Kind, err), "kv-cache-dtype"))
				}
			}
			if asJSON {
				return printJSON(c.OutOrStdout(), map[string]any{"model": name, "kv_cache_dtype": dtype.String(), "plan": plan})
			}
			w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintf(w, "%s, kv-cache-dtype %s, weights as they are stored%s\n", name, dtype, except(held))
			for _, f := range plan.Figures {
				fmt.Fprintf(w, "%s\t%s\t%s\n", f.Name, amount(f.Value, f.Unit), f.From)
			}
			fmt.Fprintf(w, "KV pool\t%d tokens in %d pages\tbound by %s\n", plan.Tokens, plan.Pages, plan.Bound)
			for _, warning := range plan.Warnings {
				fmt.Fprintf(w, "note: %s\n", warning)
			}
			return w.Flush()
		},
	}
	configs.AddEngineFlags(c.Flags())
	c.Flags().StringVar(&size, "memory", "", "plan for an accelerator of this much memory. Example: 80GiB")
	c.Flags().VisitAll(func(f *pflag.Flag) { live.planFlags = append(live.planFlags, f.Name) })
	live.addFlags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// except lists the weights that are not held as they are stored.
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

// amount shows bytes in a readable unit and other numbers as they are.
func amount(v int64, unit string) string {
	if unit != "bytes" || v < 1<<10 {
		return fmt.Sprintf("%d %s", v, unit)
	}
	size, names := float64(v), []string{"KiB", "MiB", "GiB", "TiB"}
	at := -1
	for size >= 1024 && at < len(names)-1 {
		size /= 1024
		at++
	}
	return fmt.Sprintf("%.1f %s", size, names[at])
}

func newInspectTokens() *cobra.Command {
	c := &cobra.Command{
		Use: "tokens", Short: `Tokenise: JSONL {"text"} on stdin to JSONL {"ids","ids_special","decode"}`, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, _, err := loadConfig(c)
			if err != nil {
				return err
			}
			files, _, err := node.Files(cfg)
			if err != nil {
				return err
			}
			tok, err := files.Tokenizer()
			if err != nil {
				return cfg.Explain(configs.About(err, "model"))
			}
			return eachLine(c.InOrStdin(), c.OutOrStdout(), func(line []byte) (any, error) {
				var in struct {
					Text *string `json:"text"`
				}
				if err := json.Unmarshal(line, &in); err != nil || in.Text == nil {
					return nil, fmt.Errorf(`want {"text": "…"}, got %.80s`, line)
				}
				ids := tok.Encode(*in.Text, tokenizer.EncodeOptions{ParseSpecial: true})
				special := tok.Encode(*in.Text, tokenizer.EncodeOptions{ParseSpecial: true, AddSpecial: true})
				return struct {
					IDs     []int32 `json:"ids"`
					Special []int32 `json:"ids_special"`
					Decode  string  `json:"decode"`
				}{append([]int32{}, ids...), append([]int32{}, special...), tok.Decode(ids, tokenizer.DecodeOptions{})}, nil
			})
		},
	}
	configs.AddEngineFlags(c.Flags())
	return c
}

func newInspectLogits() *cobra.Command {
	var tokens []int32
	c := &cobra.Command{
		Use: "logits", Short: "Print the logits after each of some tokens, with K and V in F32", Args: cobra.NoArgs,
		Example: "  troupe inspect logits --model PATH --tokens 1,2,3",
		RunE: func(c *cobra.Command, _ []string) error {
			_, _, m, device, err := openModel(c)
			if err != nil {
				return err
			}
			defer m.Close()
			loaded, err := device.Load(m.Program, m.Weights, progress())
			if err != nil {
				return err
			}
			defer loaded.Close()
			logits, err := exec.Logits(loaded, m.Program, tokens)
			if err != nil {
				return err
			}
			return json.NewEncoder(c.OutOrStdout()).Encode(map[string]any{"logits": logits})
		},
	}
	configs.AddEngineFlags(c.Flags())
	c.Flags().Int32SliceVar(&tokens, "tokens", nil, "token ids, separated by commas")
	_ = c.MarkFlagRequired("tokens") // fails for unknown flags only
	return c
}

// eachLine answers a JSONL stream line by line. An error ends it and names the
// line.
func eachLine(in io.Reader, out io.Writer, f func(line []byte) (any, error)) error {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, 64<<20)
	w := bufio.NewWriter(out)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for n := 1; scanner.Scan(); n++ {
		line := bytes.TrimSpace(scanner.Bytes())
		if len(line) == 0 {
			continue
		}
		v, err := f(line)
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if err := e.Encode(v); err != nil {
			return err
		}
	}
	if err := scanner.Err(); err != nil {
		return err
	}
	return w.Flush()
}
