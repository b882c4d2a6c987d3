package configs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// validate reports every value that is out of range or contradicts another.
func (c *Config) validate() []error {
	var errs []error
	bad := func(key, format string, args ...any) {
		errs = append(errs, fmt.Errorf(key+" "+format, args...))
	}
	oneOf(bad, "load-format", c.LoadFormat, "auto", "dummy")
	oneOf(bad, "sampling-defaults", c.SamplingFrom, "model", "openai")
	oneOf(bad, "device", c.Device, "cpu")
	oneOf(bad, "kv-cache-dtype", c.KVCacheDType, "auto", "f32", "bf16", "f16")
	oneOf(bad, "log-level", c.LogLevel, "debug", "info", "warn", "error")
	oneOf(bad, "log-format", c.LogFormat, "auto", "text", "json")
	within(bad, "port", c.Port, 0, 65535)
	within(bad, "threads", c.Threads, 0, 1024)
	within(bad, "max-body-bytes", c.MaxBodyBytes, 1, 1<<40)
	within(bad, "max-open-requests", c.MaxOpen, 1, 1<<24)
	within(bad, "max-queued-tokens", c.MaxQueuedToken, 1, 1<<40)
	within(bad, "mem-fraction-static", c.MemFraction, 0, 1)
	within(bad, "max-total-tokens", c.MaxTotalTokens, 0, 1<<40)
	within(bad, "max-running-requests", c.MaxRunning, 0, 1<<20)
	within(bad, "page-size", c.PageSize, 1, 4096)
	within(bad, "context-length", c.ContextLength, 0, 1<<30)
	within(bad, "max-prefill-tokens", c.MaxPrefillTokens, 1, 1<<30)
	within(bad, "chunked-prefill-size", c.ChunkedPrefillSize, -1, 1<<30)
	within(bad, "schedule-conservativeness", c.Conservativeness, 0.01, 100)
	within(bad, "debug-retract-every", c.RetractEvery, 0, 1<<30)
	within(bad, "header-timeout", c.HeaderTimeout, 1, 1<<62)
	within(bad, "write-stall-timeout", c.WriteStall, 1, 1<<62)
	within(bad, "health-timeout", c.HealthTimeout, 1, 1<<62)
	within(bad, "drain-timeout", c.DrainTimeout, 0, 1<<62)
	if c.PageSize&(c.PageSize-1) != 0 {
		bad("page-size", "is %d, it must be a power of two, for example 1, 16 or 64", c.PageSize)
	}
	if c.ChunkedPrefillSize == 0 {
		bad("chunked-prefill-size", "is 0; give a number of tokens, or -1 to switch chunks off")
	}
	if c.ChunkedPrefillSize > 0 && c.ChunkedPrefillSize < c.PageSize {
		bad("chunked-prefill-size", "is %d, it must hold at least one page of page-size %d", c.ChunkedPrefillSize, c.PageSize)
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		bad("tls-cert", "and tls-key belong together; give both or neither")
	}
	return errs
}

func oneOf(bad func(string, string, ...any), key, value string, known ...string) {
	if !slices.Contains(known, value) {
		bad(key, "is %q, it must be %s", value, strings.Join(known, ", "))
	}
}

func within[T cmp.Ordered](bad func(string, string, ...any), key string, value, low, high T) {
	if !(value >= low && value <= high) {
		bad(key, "is %v, it must be in [%v, %v]", value, low, high)
	}
}
