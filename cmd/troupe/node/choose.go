package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/gpu/cpu"
	"github.com/troupe-engine/troupe/gpu/cuda"
)

// Opened is a device that was chosen by the settings. Close it.
type Opened struct {
	gpu.Device
	Config *configs.Config // the settings, with the defaults of the device
	Why    string          // it is this device, for people
	memory int64           // all that it has of its own, in bytes
}

// with gives settings that were read again the defaults of the device.
func (o Opened) with(c *configs.Config) *configs.Config {
	if o.Device == nil { // a gateway
		return c
	}
	return c.ForDevice(o.Info().Kind, o.memory)
}

// Close frees what the device holds; no model may be open.
func (o Opened) Close() error {
	if c, is := o.Device.(io.Closer); is {
		return c.Close()
	}
	return nil
}

// OpenDevice opens the device of the settings: with auto a GPU that can be used, otherwise
// the CPU. It returns when ctx ends, also if a driver hangs.
func OpenDevice(ctx context.Context, c *configs.Config) (Opened, error) {
	return Answered(ctx, "the device was opened", 0, func() (Opened, error) { return openDevice(c) })
}

func openDevice(c *configs.Config) (Opened, error) {
	ordinal, named := c.CUDA()
	if c.Device == "cpu" {
		return openCPU(c, "the setting device says so")
	}
	o := cuda.Options{Ordinal: ordinal, Library: c.CUDALibrary, NoGraphs: c.NoGraphs}
	open := openFirst
	if ordinal >= 0 {
		open = cuda.New
	}
	device, err := open(o)
	switch {
	case err == nil:
		return openedCUDA(c, device, named)
	case named && c.CUDALibrary != "":
		return Opened{}, c.Explain(configs.About(err, "device", "cuda-library"))
	case named:
		return Opened{}, c.Explain(configs.About(err, "device"))
	}
	return openCPU(c, "no GPU can be used: "+err.Error())
}

// openFirst opens the first GPU that can be used. The error has the reason of each.
func openFirst(o cuda.Options) (cuda.Device, error) {
	found, err := cuda.List(o)
	if err != nil {
		return nil, err
	}
	var reasons []string
	for _, f := range found {
		if err = f.Fault; err == nil {
			o.Ordinal = f.Ordinal
			var device cuda.Device
			if device, err = cuda.New(o); err == nil {
				return device, nil
			}
		}
		reasons = append(reasons, err.Error())
	}
	if len(reasons) > 1 {
		return nil, errors.New(strings.Join(reasons, "; "))
	}
	return nil, err
}

func openCPU(c *configs.Config, why string) (Opened, error) {
	o := c.CPU
	if c.DataParallel > 1 { // the engines share the processors
		o.Threads = max(1, cmp.Or(o.Threads, runtime.GOMAXPROCS(0))/c.DataParallel)
	}
	device, err := cpu.New(o)
	// Only here it shows whether the processor has the instruction set.
	return Opened{device, c.ForDevice("cpu", 0), why, 0}, c.Explain(configs.About(err, "instruction-set"))
}

func openedCUDA(c *configs.Config, device cuda.Device, named bool) (Opened, error) {
	memory, err := device.Memory()
	if keys := c.OnlyCPU(); err == nil && len(keys) > 0 {
		err = configs.About(fmt.Errorf("only the CPU device has %s; remove the setting, or set device to cpu", configs.List(keys, "and")), keys...)
	}
	if err != nil {
		return Opened{}, errors.Join(c.Explain(err), device.Close())
	}
	why := "it can be used"
	if named {
		why = "the setting device says so"
	}
	return Opened{device, c.ForDevice("cuda", memory.Total), why, memory.Total}, nil
}
