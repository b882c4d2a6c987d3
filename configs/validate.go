package configs

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/sched/queue"
)

// validate reports every value that is out of range or contradicts another.
func (c *Config) validate() (errs []error) {
	for _, s := range c.settings() {
		if s.check != nil {
			for _, problem := range s.check(s.value()) {
				errs = append(errs, About(errors.New(s.key+" "+problem), s.key))
			}
		}
	}
	clash := func(when bool, key, other, format string, args ...any) {
		if when {
			errs = append(errs, About(fmt.Errorf(format, args...), slices.Compact([]string{key, other})...)) // may be one
		}
	}
	b, chunk := &c.Batch, c.Batch.ChunkedPrefillSize
	clash(c.HTTP.TenantFrom == "api-key" && len(c.HTTP.APIKeys)+len(c.HTTP.Keys) == 0, "tenant-from", "api-key",
		"tenant-from is api-key, but no api-key is set; set one, or use auto")
	clash(c.HTTP.AdminAPIKey != "" && slices.Contains(c.HTTP.APIKeys, c.HTTP.AdminAPIKey), "admin-api-key", "api-key",
		"admin-api-key equals an api-key, so every client with that key would be an administrator; choose another one")
	clash(keyTwice(&c.HTTP), "api-keys-file", "api-key", "a key of api-keys-file equals api-key or admin-api-key; remove one of them")
	clash(b.InterTokenLatencyTarget > 0 && chunk < 0, "inter-token-latency-target", "chunked-prefill-size",
		"inter-token-latency-target is %v, but chunked-prefill-size is %d; remove the target or enable chunked prefill", b.InterTokenLatencyTarget, chunk)
	clash(b.PriorityPreemption && c.Queue.SchedulePolicy != "priority", "enable-priority-preemption", "schedule-policy",
		"enable-priority-preemption requires schedule-policy priority, but schedule-policy is %q; change one of them", c.Queue.SchedulePolicy)
	clash(chunk > 0 && chunk < c.PageSize, "chunked-prefill-size", "page-size",
		"chunked-prefill-size is %d; it must be at least page-size (%d)", chunk, c.PageSize)
	clash((c.HTTP.TLSCert == "") != (c.HTTP.TLSKey == ""), "tls-cert", "tls-key", "set both tls-cert and tls-key, or neither")
	clash(c.given("chunked-prefill-size") && c.given("max-prefill-tokens") && chunk > b.MaxPrefillTokens, "chunked-prefill-size", "max-prefill-tokens",
		"chunked-prefill-size is %d and max-prefill-tokens is %d: a chunk cannot exceed the tokens of a step; lower the first or raise the second", chunk, b.MaxPrefillTokens)
	clash(c.KillToken != 0 && !c.Chaos, "debug-kill-token", "debug-chaos", "debug-kill-token has no effect without debug-chaos; set it, too")
	c.validateCluster(clash)
	return errs
}

// keyTwice reports whether a key of the file is set elsewhere, too: its rights and its name
// would not be clear.
func keyTwice(o *httpapi.Options) bool {
	return slices.ContainsFunc(append(slices.Clone(o.APIKeys), o.AdminAPIKey), func(key string) bool {
		return key != "" && slices.ContainsFunc(o.Keys, func(k httpapi.Key) bool { return k.Digest == sha256.Sum256([]byte(key)) })
	})
}

func (c *Config) given(key string) bool {
	source, ok := c.sources[key]
	return ok && source != fromDefault
}

// Warnings returns notes on settings without the expected effect, for the log.
func (c *Config) Warnings() (notes []string) {
	warn := func(when bool, format string, args ...any) {
		if when {
			notes = append(notes, fmt.Sprintf(format, args...))
		}
	}
	policy, r, keys := c.Queue.SchedulePolicy, &c.Requests, c.HTTP.APIKeys
	used := (&queue.Options{SchedulePolicy: policy, CacheDisabled: c.DisableRadixCache}).Effective()
	warn(used != policy, "schedule-policy %s requires the prefix cache, which disable-radix-cache turns off; using %s instead", policy, used)
	warn(c.LowPriorityFirst && policy != "priority" && c.EvictionPolicy != "priority",
		"schedule-low-priority-values-first has no effect: neither schedule-policy (%s) nor radix-eviction-policy (%s) is priority", policy, c.EvictionPolicy)
	warn(r.RequestTimeout > 0 && r.QueueTimeout >= r.RequestTimeout && c.given("queue-timeout"),
		"queue-timeout %v has no effect: request-timeout %v ends every request no later than that", r.QueueTimeout, r.RequestTimeout)
	warn(r.MaxQueuedRequests > r.MaxOpenRequests,
		"max-queued-requests %d has no effect: max-open-requests allows only %d requests", r.MaxQueuedRequests, r.MaxOpenRequests)
	several := slices.ContainsFunc(keys, func(k string) bool { return k != keys[0] }) || len(c.HTTP.Keys) > 0
	hasAdmin := c.HTTP.AdminAPIKey != "" || slices.ContainsFunc(c.HTTP.Keys, func(k httpapi.Key) bool { return k.Admin })
	warn(c.Cache.Events && !hasAdmin && several,
		"kv-events reveals what all clients have cached; with several api-keys it requires admin-api-key: set it, and read the events with that key")
	for _, key := range c.withoutCluster() {
		warn(true, "%s has no effect without cluster-role; set it to gateway, engine or both", key)
	}
	warn(c.Cache.Events && c.DisableRadixCache, "kv-events has no effect: disable-radix-cache is on, so nothing is cached")
	return notes
}
