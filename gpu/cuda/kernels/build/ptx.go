package main

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/troupe-engine/troupe/gpu/cuda/kernels"
)

var (
	ptxVersion = regexp.MustCompile(`(?m)^\.version (\S+)`)
	// floating is an instruction on floats: its name, modifiers, and the type it ends with.
	floating = regexp.MustCompile(`^(?:@!?%p\d+\s+)?([a-z0-9]+)((?:\.[a-z0-9:_]+)*\.(?:f16x2|f16|f32|f64|bf16x2|bf16))\s`)
	// correctly are the instructions whose result is rounded once or exact. The others
	// are either approximations or leave ptxas a choice: without .rn it may fuse mul and
	// add, with .ftz subnormal numbers are lost.
	correctly = map[string]*regexp.Regexp{
		"add":  regexp.MustCompile(`^\.rn\.f(32|64)$`),
		"sub":  regexp.MustCompile(`^\.rn\.f(32|64)$`),
		"mul":  regexp.MustCompile(`^\.rn\.f(32|64)$`),
		"fma":  regexp.MustCompile(`^\.rn\.(f32|f64|bf16x2)$`),
		"div":  regexp.MustCompile(`^\.rn\.f(32|64)$`),
		"sqrt": regexp.MustCompile(`^\.rn\.f(32|64)$`),
		"rcp":  regexp.MustCompile(`^\.rn\.f(32|64)$`),
		// Conversions; rni, rzi and the like round to an integer.
		"cvt": regexp.MustCompile(`^(\.r[nzmp]i?)?(\.(f|s|u|b)\d+|\.f16x2|\.bf16x2|\.bf16){1,2}$`),
		// Exact ones.
		"neg": exact, "abs": exact, "min": exact, "max": exact, "mov": exact, "selp": exact, "setp": exact, "ld": exact, "st": exact,
		// Tensor cores: truncated in a way that is known (testkit/cudaemu/emu/dot.cc).
		"mma": exact, "wgmma": exact,
	}
	exact = regexp.MustCompile(``)
)

// checkPTX refuses arithmetic on floats that is not correctly rounded.
func checkPTX(text string) error {
	kernel := ""
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if m := entry.FindStringSubmatch(line); m != nil {
			kernel = m[1]
		}
		if strings.Contains(line, ".approx") || strings.Contains(line, ".ftz") || strings.Contains(line, ".full") {
			return fmt.Errorf("line %d of the PTX, in %s, is not correctly rounded: %s", i+1, kernel, line)
		}
		m := floating.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		rule, ok := correctly[m[1]]
		if !ok {
			return fmt.Errorf("line %d of the PTX, in %s, is not known to be correctly rounded: %s", i+1, kernel, line)
		}
		if !rule.MatchString(m[2]) {
			return fmt.Errorf("line %d of the PTX, in %s, is not correctly rounded: %s", i+1, kernel, line)
		}
	}
	return nil
}

var (
	entry     = regexp.MustCompile(`^\.visible \.entry (\w+)\(`)
	parameter = regexp.MustCompile(`^\.param \.([bsuf])(\d+)`)
	threads   = regexp.MustCompile(`^\.maxntid (\d+)`)
)

// entriesOf lists the kernels of a PTX module.
func entriesOf(text string) []kernels.Kernel {
	var list []kernels.Kernel
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := entry.FindStringSubmatch(line); m != nil {
			list = append(list, kernels.Kernel{Name: m[1]})
		}
		if len(list) == 0 {
			continue
		}
		last := &list[len(list)-1]
		if m := parameter.FindStringSubmatch(line); m != nil {
			bits, _ := strconv.Atoi(m[2])
			last.Parameters = append(last.Parameters, bits/8)
		}
		if m := threads.FindStringSubmatch(line); m != nil {
			last.Threads, _ = strconv.Atoi(m[1])
		}
	}
	return list
}

var (
	compiling = regexp.MustCompile(`Compiling entry function '(\w+)'`)
	spilled   = regexp.MustCompile(`(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads`)
	used      = regexp.MustCompile(`Used (\d+) registers`)
	shared    = regexp.MustCompile(`(\d+) bytes smem`)
)

// buildsOf reads what ptxas -v prints. A kernel that spills registers, keeps an array on
// the stack, or whose wgmma instructions ptxas serialises, is an error.
func buildsOf(text string) (map[string]kernels.Build, error) {
	builds := map[string]kernels.Build{}
	name := ""
	for line := range strings.Lines(text) {
		if strings.Contains(line, "Potential Performance Loss") {
			return nil, errors.New(strings.TrimSpace(line))
		}
		if m := compiling.FindStringSubmatch(line); m != nil {
			name = m[1]
		}
		if m := spilled.FindStringSubmatch(line); m != nil && name != "" && (m[1] != "0" || m[2] != "0" || m[3] != "0") {
			return nil, fmt.Errorf("%s spills registers: %s", name, strings.TrimSpace(m[0]))
		}
		if m := used.FindStringSubmatch(line); m != nil && name != "" {
			b := kernels.Build{}
			b.Registers, _ = strconv.Atoi(m[1])
			if m := shared.FindStringSubmatch(line); m != nil {
				b.Shared, _ = strconv.Atoi(m[1])
			}
			builds[name] = b
			name = ""
		}
	}
	return builds, nil
}
