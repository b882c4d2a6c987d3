package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// foreignFlags are the flags of vLLM, llama.cpp and Ollama by the flag of Troupe with the
// same meaning, as docs/moving.md lists them.
var foreignFlags = map[string]string{
	"model":                "m hf hf-repo",
	"served-model-name":    "alias",
	"context-length":       "c ctx-size max-model-len num-ctx",
	"mem-fraction-static":  "gpu-memory-utilization",
	"max-running-requests": "max-num-seqs parallel np",
	"max-queued-requests":  "max-queue",
	"chunked-prefill-size": "max-num-batched-tokens batch-size b",
	"page-size":            "block-size",
	"disable-radix-cache":  "no-enable-prefix-caching",
	"kv-cache-dtype":       "cache-type-k cache-type-v",
	"weight-dtype":         "dtype quantization q",
	"sampling-defaults":    "generation-config",
	"threads":              "t",
	"chat-template":        "chat-template-file",
	"tls-key":              "ssl-keyfile ssl-key-file",
	"tls-cert":             "ssl-certfile ssl-cert-file",
	"cors-origins":         "allowed-origins",
}

// noSuchFlags are flags of others for which Troupe has none, by what to do. A command without
// the flag needs has nothing like it.
var noSuchFlags = []struct{ names, needs, remedy string }{
	{"tensor-parallel-size tp-size tp pipeline-parallel-size pp-size", "data-parallel-size", "a model is not split over devices; remove it, or use --data-parallel-size for several engines with the same model"},
	{"n-gpu-layers gpu-layers ngl", "device", "a model is on one device as a whole; remove it, or choose the device with --device"},
	{"trust-remote-code", "model", "Troupe runs no code of models; remove it"},
	{"enable-prefix-caching", "disable-radix-cache", "the prefix cache is on by default; remove it"},
	{"enable-chunked-prefill", "chunked-prefill-size", "prompts are computed in chunks by default; remove it, or set the size with --chunked-prefill-size"},
}

// foreignFlag is what to use in place of another server's flag, "" if it is not known or the
// command has nothing like it. Short flags may have their value attached, as in -c4096.
func foreignFlag(unknown *pflag.NotExistError, flags *pflag.FlagSet) string {
	name := cmp.Or(strings.TrimRight(unknown.GetSpecifiedShortnames(), "0123456789"), unknown.GetSpecifiedName())
	for own, names := range foreignFlags {
		if among(names, name) && flags.Lookup(own) != nil {
			return fmt.Sprintf("use --%s", own)
		}
	}
	for _, f := range noSuchFlags {
		if among(f.names, name) && flags.Lookup(f.needs) != nil {
			return f.remedy
		}
	}
	return ""
}

// among reports whether a name, which may have _ in place of -, is one of several.
func among(names, name string) bool {
	return slices.Contains(strings.Fields(names), strings.ReplaceAll(name, "_", "-"))
}

// foreignCommands are commands of others, by what to use.
var foreignCommands = []struct{ names, remedy string }{
	{"run", "`troupe chat MODEL` chats in the terminal, `troupe serve MODEL` starts a server"},
	{"ps", "`troupe top` shows what a running server does, `troupe list` the models in the cache"},
	{"start launch launch-server llama-server", "`troupe serve MODEL` starts a server"},
	{"download", "`troupe pull MODEL` downloads a model"},
	{"remove delete", "`troupe rm MODEL` removes a model from the cache"},
	{"complete", "`troupe generate` continues one prompt"},
}

// foreignCommand is what to use in place of another program's command, "" if it is not known.
func foreignCommand(c *cobra.Command, name string) string {
	if c.HasParent() {
		return ""
	}
	for _, f := range foreignCommands {
		if among(f.names, name) {
			return f.remedy
		}
	}
	return ""
}
