package simd

import (
	"strings"

	"golang.org/x/sys/cpu"
)

// Supported reports whether this processor has the level.
func (l Level) Supported() bool { return l.lacks() == "" }

// lacks lists the extensions that are missing.
func (l Level) lacks() string {
	var missing []string
	need := func(has bool, name string) {
		if !has {
			missing = append(missing, name)
		}
	}
	if l >= AVX2 {
		need(cpu.X86.HasAVX2, "AVX2")
		need(cpu.X86.HasFMA, "FMA")
		need(cpu.X86.HasF16C, "F16C")
	}
	if l >= AVX512 {
		need(cpu.X86.HasAVX512F, "AVX512F")
		need(cpu.X86.HasAVX512BW, "AVX512BW")
		need(cpu.X86.HasAVX512DQ, "AVX512DQ")
		need(cpu.X86.HasAVX512VL, "AVX512VL")
		need(cpu.X86.HasAVX512VNNI, "AVX512VNNI")
	}
	if l >= AMX {
		need(cpu.X86.HasAMXTile, "AMX-TILE")
		need(cpu.X86.HasAMXInt8, "AMX-INT8")
		need(tilesAllowed, "the operating system's permission to use AMX")
	}
	return strings.Join(missing, ", ")
}
