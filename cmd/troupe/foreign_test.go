package main

import (
	"regexp"
	"strings"
	"testing"
)

// Flags and commands of other servers are answered with those of Troupe, which exist.
func TestForeignFlagsAndCommands(t *testing.T) {
	for line, want := range map[string]string{
		"serve -m X":                      "unknown shorthand flag: 'm' in -m; use --model",
		"serve -c 4096":                   "; use --context-length",
		"serve -c4096":                    "; use --context-length",
		"serve --ctx-size 4096":           "unknown flag: --ctx-size; use --context-length",
		"serve --max-model-len 4096":      "; use --context-length",
		"serve --max_model_len 4096":      "; use --context-length",
		"chat --max-model-len 4096":       "; use --context-length",
		"serve --gpu-memory-utilization=": "; use --mem-fraction-static",
		"serve --max-num-seqs 8":          "; use --max-running-requests",
		"serve -np 8":                     "; use --max-running-requests",
		"serve --max-num-batched-tokens":  "; use --chunked-prefill-size",
		"serve --block-size 16":           "; use --page-size",
		"serve --quantization q8_0":       "; use --weight-dtype",
		"serve --cache-type-k q8_0":       "; use --kv-cache-dtype",
		"serve --ssl-keyfile x":           "; use --tls-key",
		"serve --tensor-parallel-size 2":  "; a model is not split over devices; remove it, or use --data-parallel-size for several",
		"serve -ngl 99":                   "; a model is on one device as a whole; remove it, or choose the device with --device",
		"serve --trust-remote-code":       "; Troupe runs no code of models; remove it",
		"pull --max-model-len 4096":       "; `troupe pull --help` lists the flags",
		"pull -x":                         "unknown shorthand flag: 'x' in -x; `troupe pull --help` lists the flags",
		"serve --prot 1":                  "; did you mean --port?",
		"run X":                           `unknown command "run"; ` + "`troupe chat MODEL` chats in the terminal, `troupe serve MODEL` starts a server",
		"run X --ctx-size 1":              "`troupe serve MODEL` starts a server",
		"ps":                              "`troupe top` shows what a running server does",
		"launch_server":                   "`troupe serve MODEL` starts a server",
		"serv":                            "did you mean troupe serve?",
	} {
		_, err := run(t, "", strings.Fields(line)...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("troupe %s: %v, want %q", line, err, want)
			continue
		}
		serve, _, _ := newRoot().Find([]string{"serve"})
		for _, flag := range regexp.MustCompile(`(?:use|with) --([a-z-]+)`).FindAllStringSubmatch(err.Error(), -1) {
			if serve.Flags().Lookup(flag[1]) == nil {
				t.Errorf("troupe %s has no --%s", line, flag[1])
			}
		}
		for _, command := range regexp.MustCompile("`troupe ([a-z]+)").FindAllStringSubmatch(err.Error(), -1) {
			if found, _, err := newRoot().Find(command[1:]); err != nil || found.Name() != command[1] {
				t.Errorf("troupe %s has no command %s", line, command[1])
			}
		}
	}
}
