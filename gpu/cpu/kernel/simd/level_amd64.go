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
		need(hasF16C, "F16C")
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
		need(tilesAllowed, "permission from the system to use AMX")
	}
	return strings.Join(missing, ", ")
}

// x/sys/cpu does not report F16C: bit 29 of ECX of leaf 1. HasAVX2 already says that
// the system saves AVX registers.
var hasF16C = featuresECX()&(1<<29) != 0
