package inspect

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/cmd/troupe/node"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/gpu/cpu"
	"github.com/troupe-engine/troupe/gpu/cuda"
	"github.com/troupe-engine/troupe/internal/units"
)

// listed is a device as it is printed.
type listed struct {
	Device  string `json:"device"`         // a value of the setting device
	Name    string `json:"name,omitempty"` // "": unknown
	Compute string `json:"compute_capability,omitempty"`
	UUID    string `json:"uuid,omitempty"`
	Memory  int64  `json:"memory_bytes,omitempty"`
	Driver  string `json:"cuda_version,omitempty"`
	Fault   string `json:"fault,omitempty"` // why it cannot be used
}

// row is a line of the table.
func (l listed) row() string {
	name, memory, fault := l.Name, "", l.Fault
	switch {
	case l.Device == "cuda": // there is none
		return l.Device + "\t" + fault
	case name == "":
		name = "unknown device"
	default:
		memory = units.Bytes(l.Memory)
	}
	if l.Compute != "" {
		name += ", compute capability " + l.Compute
	}
	if fault != "" {
		fault = "\tcannot be used: " + fault
	}
	return l.Device + "\t" + name + "\t" + memory + fault
}

func newDevices() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "devices", Short: "List the devices of this machine, and why one cannot be used", Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := cli.Config(c)
			if err != nil {
				return err
			}
			processor, err := cpu.New(cfg.CPU)
			if err != nil {
				return cfg.Explain(err)
			}
			memory, err := processor.Memory()
			if err != nil {
				return err
			}
			list := []listed{{Device: "cpu", Name: processor.Info().Name, Memory: memory.Total}}
			found, none := node.Answered(c.Context(), "the driver was asked for its devices", 0, func() ([]cuda.Found, error) {
				return cuda.List(cuda.Options{Library: cfg.CUDALibrary})
			})
			if c.Context().Err() != nil {
				return cmp.Or(none, context.Cause(c.Context()))
			}
			for _, f := range found {
				one := listed{Device: fmt.Sprintf("cuda:%d", f.Ordinal), Name: f.Name, Compute: f.Compute, UUID: f.UUID, Memory: f.Memory, Driver: f.Driver}
				if f.Fault != nil {
					one.Fault = f.Fault.Error()
				}
				list = append(list, one)
			}
			if none != nil {
				list = append(list, listed{Device: "cuda", Fault: none.Error()})
			}
			return cli.Print(c, asJSON, list, cli.Table(0, func(w io.Writer) {
				for _, d := range list {
					fmt.Fprintln(w, d.row())
				}
			}))
		},
	}
	configs.AddEngineFlags(c.Flags())
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
