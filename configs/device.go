package configs

import (
	"fmt"
	"regexp"
	"strconv"
)

var cudaDevice = regexp.MustCompile(`^cuda(?::([0-9]{1,3}))?$`)

// deviceName checks the setting device.
func deviceName(value any) []string {
	switch name := value.(string); {
	case name == "auto", name == "cpu", cudaDevice.MatchString(name):
		return nil
	default:
		return []string{fmt.Sprintf("is %q; it must be auto, cpu, cuda or cuda:N with the number of a GPU", name)}
	}
}

// CUDA returns the number of the GPU that the setting device names, or -1, which is any;
// named: the setting asks for a GPU.
func (c *Config) CUDA() (ordinal int, named bool) {
	m := cudaDevice.FindStringSubmatch(c.Device)
	if m == nil || m[1] == "" {
		return -1, m != nil
	}
	ordinal, _ = strconv.Atoi(m[1])
	return ordinal, true
}

// Defaults of a GPU.
const cudaPageSize = 64

// cudaChunk is the default chunked-prefill-size of a GPU with some memory, in bytes: SGLang's
// (server_args.py, handling of GPU memory).
func cudaChunk(memory int64) int {
	switch gib := memory >> 30; {
	case gib < 35:
		return 2048
	case gib < 60:
		return 4096
	}
	return 8192
}

// ForDevice returns the settings for a device of some kind and memory in bytes: where a
// setting was not given, it has the device's default.
func (c *Config) ForDevice(kind string, memory int64) *Config {
	with := *c
	if kind != "cuda" {
		return &with
	}
	if !c.given("page-size") {
		with.PageSize = cudaPageSize
	}
	if !c.given("disable-overlap-schedule") {
		with.DisableOverlap = false
	}
	if c.Batch.ChunkedPrefillSize == 0 {
		with.Batch.ChunkedPrefillSize = min(cudaChunk(memory), c.Batch.MaxPrefillTokens)
	}
	return &with
}

// OnlyCPU lists the given settings that change results and that only the CPU device has.
func (c *Config) OnlyCPU() (keys []string) {
	for _, key := range []string{"weight-dtype", "activation-dtype"} {
		if c.given(key) && !c.isAuto(key) {
			keys = append(keys, key)
		}
	}
	return keys
}

func (c *Config) isAuto(key string) bool {
	return key == "weight-dtype" && c.CPU.WeightDType == "auto" || key == "activation-dtype" && c.CPU.Activations == "auto"
}
